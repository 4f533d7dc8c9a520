"""Regularised least squares: the linear model of Algorithms 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from qufur._internal.tensors import sums_of_squares, with_constant
from qufur.arrays import Floats, as_count, as_number, set_fields
from qufur.errors import invalid
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models._regression import LeastSquares, as_flag
from qufur.models.base import Model, State, Tags
from qufur.models.gram.gram import Gram
from qufur.pending import PendingQueries


@dataclass(frozen=True)
class Ridge(LeastSquares):
    """Ridge regression clip(⟨θ̂, x⟩), with Δ = η̃² min(1, ‖x‖² in M⁻¹), M = λI + Σ x xᵀ over queried inputs.

    Departures from the paper are options, off by default. The authors' scripts use `cap=False` and an
    explicit `regularization`; most data need an intercept.

    Parameters
    ----------
    dim
        d ≥ 1, the number of input columns.
    norm_bound
        C ≥ ‖θ*‖; λ = 1/C².
    regularization
        λ > 0; None derives it from the norm bound. With noise variance σ² and prior variance τ² of each
        coordinate of θ*, both for labels scaled to [−1, 1], λ = σ²/τ² is optimal.
    noise
        η ≥ 0, the sub-Gaussian noise level; η̃ = max(1, η).
    cap
        Whether Δ is capped at η̃².
    clip
        Whether predictions are clipped to `label_range`.
    intercept
        Whether a constant is added to ⟨θ, x⟩, as an additional coordinate of θ.
    intercept_penalty
        In (1e-12, 1]: the penalty of the intercept, relative to λ. The default hardly penalises it, so that
        labels may lie anywhere in their range; 1 penalises it like the other coordinates. A constant
        1/√intercept_penalty is appended to every input, and M remains λI + Σ x xᵀ.
    label_range
        The user's (lowest, highest) label, mapped to [−1, 1] internally. Noisy labels may exceed it.
    half_life
        An integer of at least 1: number of examples after which the weight of a label and of its query is
        halved, for a drifting θ*. None never forgets. See `ForgettingState`.
    importance
        κ in [0, 1]: in the fit a label has the weight min(20, (p̄/p)^κ), with p the probability of its query
        and p̄ the mean of p over the examples up to it. Queried labels then represent the whole stream, which
        helps if no θ fits all of it. Δ is unweighted. 0 gives equal weights.

    Examples
    --------
    >>> state = Ridge(2, label_range=(1, 5)).start()
    >>> state.predict(np.eye(2)), state.uncertainty(np.eye(2))
    (array([3., 3.]), array([1., 1.]))
    """

    dim: int
    intercept: bool = field(default=False, kw_only=True)
    intercept_penalty: float = field(default=1e-6, kw_only=True)
    half_life: int | None = field(default=None, kw_only=True)
    importance: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        half_life, importance = self.half_life, self.importance
        is_real = isinstance(importance, Real) and not isinstance(importance, bool)
        if not (is_real and 0 <= float(importance) <= 1):
            raise invalid("importance", "Ridge", "a number from 0 to 1", repr(importance))
        if half_life is not None:
            half_life = as_count(half_life, "half_life", "Ridge", remedy="None never forgets.")
        set_fields(
            self,
            dim=as_count(self.dim, "dim", "Ridge"),
            intercept=as_flag(self.intercept, "intercept", "Ridge"),
            intercept_penalty=as_number(
                self.intercept_penalty, "intercept_penalty", "Ridge", low=1e-12, high=1.0
            ),
            half_life=half_life,
            importance=float(importance),
        )
        if self.importance and half_life is not None:
            received = f"{self.importance:g} beside half_life={half_life}"
            raise invalid("importance", "Ridge", "0 in a model that forgets", received, "Leave one out.")

    @cached_property
    def tags(self) -> Tags:  # type: ignore[override]
        """Properties of the model."""
        return Tags(
            label_free=True,
            monotone=True,
            bounded=True,
            any_norm=True,
            forgets=self.half_life is not None,
            uses_purchases=self.importance > 0,
        )

    @cached_property
    def constant(self) -> float:
        """Constant appended to every input, 1/√intercept_penalty; 1 and unused without an intercept."""
        return 1.0 / math.sqrt(self.intercept_penalty) if self.intercept else 1.0

    def features(self, X: Floats) -> Floats:
        """Return the rows with the constant appended, if there is an intercept."""
        return with_constant(X, self.constant) if self.intercept else X

    def feature_one(self, x: Floats) -> Floats:
        return np.append(x, self.constant) if self.intercept else x

    def squared_norms(self, X: Floats) -> Floats:
        # The intercept counts as 1; the square of its constant would outweigh all other columns.
        return np.asarray(sums_of_squares(X) + self.intercept)

    def squared_norm(self, x: Floats, square: float) -> float:
        return square + self.intercept

    def posterior(self) -> Gram:
        return Gram(self.dim + self.intercept, self.penalty, self.constant)

    def restored(self, arrays: dict[str, np.ndarray[Any, Any]]) -> Gram:
        return Gram.restored(arrays, self.dim + self.intercept, self.constant)

    def start(self, pending: PendingQueries | None = None) -> LeastSquaresState:
        if self.importance:
            from qufur.models._importance import WeightedState

            return WeightedState(self, self.importance, pending)
        if self.half_life is not None:
            from qufur.models._forgetting import ForgettingState

            return ForgettingState(self, self.half_life, pending)
        return LeastSquaresState(self, pending)

    def with_columns(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Append columns that were 0 so far: M gets λ on the new diagonal entries and 0 beside them."""
        from qufur.models._widen import with_zero_columns

        return with_zero_columns(self, state, constants)

    @classmethod
    def examples(cls, dim: int) -> Sequence[Ridge]:
        return [
            cls(dim),
            cls(dim, regularization=0.1, cap=False, clip=False, noise=2.0),
            cls(dim, intercept=True, label_range=(1, 5), norm_bound=3.0),
            cls(dim, intercept=True, intercept_penalty=1.0, norm_bound=3.0),
            cls(dim, regularization=0.2, half_life=100),
            cls(dim, regularization=0.2, importance=0.7),
        ]
