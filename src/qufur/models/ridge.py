"""Regularised least squares: the linear model of Algorithms 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur.arrays import Floats, as_count, as_noise, as_number
from qufur.errors import invalid
from qufur.models.base import Model
from qufur.models.ridge_state import RidgeState


@dataclass(frozen=True)
class Ridge(Model):
    """Predict clip(⟨θ̂, x⟩) with Δ = η̃² min(1, ‖x‖² in M⁻¹), M = λI + Σ x xᵀ over the queried inputs.

    Departures from the paper are options, and off by default: `cap=False` and an explicit `regularization`
    are what the authors' scripts ran, an intercept is what most data need.

    Parameters
    ----------
    dim
        d ≥ 1, the number of input columns.
    norm_bound
        C ≥ ‖θ*‖; λ = 1/C².
    regularization
        λ > 0, if it should not come from the norm bound. With noise variance σ² and prior variance τ² of
        each coordinate of θ*, both for labels scaled to [−1, 1], λ = σ²/τ² serves best.
    noise
        η ≥ 0, the sub-Gaussian noise level; η̃ = max(1, η).
    cap
        Whether Δ is capped at η̃².
    clip
        Whether predictions are clipped to `label_range`.
    intercept
        Whether a constant 1 is appended to every input; it is regularised like the rest.
    label_range
        The user's (lowest, highest) label, mapped to [−1, 1] inside. Noise may carry labels beyond it.

    Examples
    --------
    >>> state = Ridge(2, label_range=(1, 5)).start()
    >>> state.predict(np.eye(2)), state.uncertainty(np.eye(2))
    (array([3., 3.]), array([1., 1.]))
    """

    label_free = True
    monotone = True
    bounded = True

    dim: int
    norm_bound: float = field(default=1.0, kw_only=True)
    regularization: float | None = field(default=None, kw_only=True)
    noise: float = field(default=1.0, kw_only=True)
    cap: bool = field(default=True, kw_only=True)
    clip: bool = field(default=True, kw_only=True)
    intercept: bool = field(default=False, kw_only=True)
    label_range: tuple[float, float] = field(default=(-1.0, 1.0), kw_only=True)

    def __post_init__(self) -> None:
        as_count(self.dim, "dim", "Ridge")
        as_number(self.norm_bound, "norm_bound", "Ridge", low=0)
        if not 1e-150 < self.norm_bound < 1e150:
            raise invalid("norm_bound", "Ridge", "such that 1/C² is a number", self.norm_bound)
        if self.regularization is not None:
            as_number(self.regularization, "regularization", "Ridge", low=0)
        as_noise(self.noise, "Ridge")
        for name in ("cap", "clip", "intercept"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise invalid(name, "Ridge", "True or False", repr(getattr(self, name)))
        object.__setattr__(self, "label_range", _as_range(self.label_range))

    @property
    def penalty(self) -> float:
        """λ."""
        return self.norm_bound**-2.0 if self.regularization is None else float(self.regularization)

    @property
    def width(self) -> int:
        """Number of coordinates of θ, the intercept included."""
        return self.dim + self.intercept

    def features(self, X: Floats) -> Floats:
        """Return the rows with the constant appended, if there is an intercept."""
        return np.column_stack([X, np.ones(len(X))]) if self.intercept else X

    def delta(self, variance: Floats) -> Floats:
        """Return Δ for ‖x‖² in M⁻¹."""
        level = max(1.0, self.noise) ** 2
        return level * (np.minimum(1.0, variance) if self.cap else variance)

    def scaled(self, labels: Floats) -> Floats:
        """Map labels to [−1, 1]."""
        low, high = self.label_range
        return (labels - (low + high) / 2) / ((high - low) / 2)

    def unscaled(self, scores: Floats) -> Floats:
        """Map scores to the user's units, clipped if wanted."""
        low, high = self.label_range
        scores = np.clip(scores, -1.0, 1.0) if self.clip else scores
        return scores * ((high - low) / 2) + (low + high) / 2

    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the squared loss."""
        return (prediction - label) ** 2

    def start(self) -> RidgeState:
        """Return the state of a learner that has seen nothing."""
        return RidgeState(self)

    @classmethod
    def examples(cls, dim: int) -> Sequence[Ridge]:
        """Return small instances for the contract checks."""
        return [
            cls(dim),
            cls(dim, regularization=0.1, cap=False, clip=False, noise=2.0),
            cls(dim, intercept=True, label_range=(1, 5), norm_bound=3.0),
        ]


def _as_range(value: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not (low < high and np.isfinite(high - low)):
        raise invalid("label_range", "Ridge", "two finite numbers (low, high) with low < high", repr(value))
    return low, high
