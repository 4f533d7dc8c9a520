"""Hypothesis classes for Algorithm 3: least-squares fits and disagreement within a confidence set."""

from qufur.hypotheses.base import HypothesisClass, described
from qufur.hypotheses.finite import Finite, FiniteLinear, FiniteTable
from qufur.hypotheses.generalised_linear import GeneralisedLinear
from qufur.hypotheses.linear_ball import LinearBall
from qufur.hypotheses.parametric import Parametric

__all__ = [
    "Finite",
    "FiniteLinear",
    "FiniteTable",
    "GeneralisedLinear",
    "HypothesisClass",
    "LinearBall",
    "Parametric",
    "described",
]
__dir__ = __all__.copy
