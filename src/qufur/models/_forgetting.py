"""State of ridge regression with exponential forgetting, for a drifting target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models.gram.gram import Gram
from qufur.models.lookahead import Lookahead
from qufur.pending import Pending, PendingQueries

if TYPE_CHECKING:
    from qufur.models.ridge import Ridge


class ForgettingState(LeastSquaresState):
    """Least-squares state that multiplies M − λI and Σ x y by γ = 2^(−step/half_life) every `step` examples.

    A row queried k discounts ago has weight γ^k, whenever its label arrives: row and label are multiplied by
    the root of the weight. A discount costs O(d³), so there are 16 per half-life instead of one per example;
    weights are then off by less than 5 %. `learn` has no position in the stream: its rows start with weight 1
    and are discounted afterwards.

    >>> from qufur.models import Ridge
    >>> state = Ridge(1, half_life=16).start()
    >>> state.learn(np.ones((1, 1)), np.ones(1))
    >>> state.advance(16)
    >>> state.predict(np.ones((1, 1))), state.uncertainty(np.ones((1, 1)))  # M = 1 + 1/2, Σ x y = 1/2
    (array([0.33333333]), array([0.66666667]))
    """

    discounts_per_half_life = 16

    labelled: Gram

    def __init__(self, model: Ridge, half_life: int, pending: PendingQueries | None = None) -> None:
        super().__init__(model, pending)
        self.step = max(1, half_life // self.discounts_per_half_life)
        self.factor = 2.0 ** (-self.step / half_life)
        self.seen = 0

    @property
    def discounts(self) -> int:
        """Number of discounts so far."""
        return self.seen // self.step

    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead over the rows of X before the next discount."""
        return super().look_ahead(X[: self.step - self.seen % self.step])

    def advance(self, count: int) -> None:
        """Move on by `count` examples and apply the discounts that are due."""
        before = self.discounts
        self.seen += count
        if self.discounts == before:
            return
        self._last_solve, factor = None, self.factor ** (self.discounts - before)
        self.labelled.discount(factor, self.model.penalty)
        if self._has_separate_queried:
            cast(Gram, self.queried).discount(factor, self.model.penalty)

    def record(self, queries: Sequence[Pending], rows: Floats) -> None:
        """Fill in the features of queries and the number of discounts before them."""
        super().record(queries, rows)
        for query in queries:
            query.step = self.discounts

    def rows_of(self, queries: Sequence[Pending]) -> Floats:
        """Return the rows of queries multiplied by the roots of their weights."""
        return super().rows_of(queries) * self._root_weights(queries)[:, None]

    def rows_and_labels(self, queries: Sequence[Pending], labels: Floats) -> tuple[Floats, Floats]:
        """Return the rows of queries and their labels, both multiplied by the roots of their weights."""
        rows, y = super().rows_and_labels(queries, labels)
        return rows, y * self._root_weights(queries)

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = super().save()
        return values | {"seen": self.seen}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        super().restore(values, arrays)
        self.seen = values["seen"]

    def _root_weights(self, queries: Sequence[Pending]) -> Floats:
        since = self.discounts - np.array([query.step for query in queries], dtype=np.int64)
        return np.asarray(self.factor ** (since / 2))
