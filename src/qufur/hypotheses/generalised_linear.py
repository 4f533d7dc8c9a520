"""Generalised linear functions: a link function of a linear score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur.arrays import Floats, as_number, set_fields
from qufur.errors import invalid
from qufur.hypotheses.parametric import SmoothClass


@dataclass(frozen=True)
class Link:
    """An increasing function, its derivative, and the largest value of the derivative."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    max_slope: float


def _erf(scores: Floats) -> Floats:
    from scipy.special import erf

    return np.asarray(erf(scores / math.sqrt(2)))


def _density(scores: Floats) -> Floats:
    return np.asarray(math.sqrt(2 / math.pi) * np.exp(-0.5 * np.minimum(np.abs(scores), 1e3) ** 2))


LINKS = {
    "identity": Link(np.asarray, np.ones_like, 1.0),
    # Probabilities p are mapped to 2p − 1 in [−1, 1], like labels in [0, 1].
    "logistic": Link(lambda z: np.tanh(z / 2), lambda z: (1 - np.tanh(z / 2) ** 2) / 2, 0.5),
    "probit": Link(_erf, _density, math.sqrt(2 / math.pi)),
}


def as_link(name: Any, owner: str) -> Link:
    """Return the link with this name; raise `InvalidError` for an unknown one."""
    if not isinstance(name, str) or name not in LINKS:
        raise invalid("link", owner, f"one of {', '.join(map(repr, LINKS))}", repr(name))
    return LINKS[name]


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
        ball = as_number(self.norm_bound, "norm_bound", "GeneralisedLinear", low=0)
        set_fields(self, input_bound=as_number(self.input_bound, "input_bound", "GeneralisedLinear", low=0))
        high = np.full(self.dim, ball)
        set_fields(self, norm_bound=ball, ball=ball, box=(-high, high))

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
