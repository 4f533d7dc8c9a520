"""Hypothesis classes for Algorithm 3: what is fitted, and how far a confidence set disagrees."""

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
