"""Generalised linear functions: a link function of a linear score."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from qufur.arrays import Floats, as_number, set_fields
from qufur.hypotheses.links import Link, as_link
from qufur.hypotheses.parametric import SmoothClass


@dataclass(frozen=True)
class GeneralisedLinear(SmoothClass):
    """Functions link(⟨θ, x⟩) with ‖θ‖ ≤ C, fitted by least squares as in Algorithm 3.

    Values are in [−1, 1] like scaled labels: the logistic link is 2/(1 + e⁻ᶻ) − 1 and the probit link
    2Φ(z) − 1, so `label_range=(0, 1)` of the model gives probabilities.

    Parameters
    ----------
    dim
        d ≥ 1.
    link
        "logistic" or "probit"; "identity" is `LinearBall` by local optimisation, for comparison.
    norm_bound
        C > 0.
    input_bound
        Upper bound of ‖x‖, used by the covering number only.
    starts
        Number of starting points of the optimiser, θ = 0 first.
    seed
        Seed of the other starting points.

    Examples
    --------
    >>> logistic = GeneralisedLinear(1, norm_bound=5.0)
    >>> X = np.array([[-1.0], [0.5], [1.0]])
    >>> logistic.fit(X, logistic.values(np.array([2.0]), X)).round(6)
    array([2.])
    """

    dim: int
    link: str = field(default="logistic", kw_only=True)
    norm_bound: float = field(default=1.0, kw_only=True)
    input_bound: float = field(default=1.0, kw_only=True)
    starts: int = field(default=2, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        as_link(self.link, "GeneralisedLinear")
        set_fields(self, norm_bound=as_number(self.norm_bound, "norm_bound", "GeneralisedLinear", low=0))
        set_fields(self, input_bound=as_number(self.input_bound, "input_bound", "GeneralisedLinear", low=0))

    @property
    def box(self) -> tuple[Floats, Floats]:
        high = np.full(self.dim, float(self.norm_bound))
        return -high, high

    @property
    def ball(self) -> float:
        return float(self.norm_bound)

    def values(self, parameters: Floats, X: Floats) -> Floats:
        return np.asarray(self._link.value(np.einsum("ij,j->i", X, parameters)))

    def jacobian(self, parameters: Floats, X: Floats) -> Floats:
        return np.asarray(self._link.slope(np.einsum("ij,j->i", X, parameters))[:, None] * X)

    def score(self, parameters: Floats, x: Floats) -> tuple[float, Floats]:
        """Return ⟨θ, x⟩ and its gradient; unlike f(θ, x), it has no flat regions."""
        return float(x[0] @ parameters), x[0]

    def log_covering(self, scale: float) -> float:
        """Return d ln(1 + 2CbL/ε), with L the largest slope of the link and inputs of norm ≤ b."""
        lipschitz = self._link.max_slope * self.norm_bound * self.input_bound
        return self.dim * math.log1p(2 * lipschitz / scale)

    @property
    def _link(self) -> Link:
        return as_link(self.link, "GeneralisedLinear")
