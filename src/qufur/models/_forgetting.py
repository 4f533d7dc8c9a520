"""State of ridge regression with exponential forgetting, for a drifting target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats
from qufur.ids import Id
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models.gram.gram import Gram
from qufur.models.lookahead import Lookahead

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

    def __init__(self, model: Ridge, half_life: int) -> None:
        super().__init__(model)
        self.step = max(1, half_life // self.discounts_per_half_life)
        self.factor = 2.0 ** (-self.step / half_life)
        self.seen = 0
        self.discounts_at_query: dict[Id, int] = {}

    @property
    def takes_device(self) -> bool:
        """False: discounts run on the host."""
        return False

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
        if self.discounts > before:
            self._discount(self.factor ** (self.discounts - before))

    def add_pending(self, ids: Sequence[Id], rows: Floats) -> None:
        """Add pending rows and record the number of discounts before them."""
        super().add_pending(ids, rows)
        self.discounts_at_query.update(dict.fromkeys(ids, self.discounts))

    def remove_pending(self, ids: Sequence[Id]) -> None:
        """Remove pending rows."""
        super().remove_pending(ids)
        for id in ids:
            del self.discounts_at_query[id]

    def rows_of(self, ids: Sequence[Id]) -> Floats:
        """Return pending rows multiplied by the roots of their weights."""
        return super().rows_of(ids) * self._root_weights(ids)[:, None]

    def rows_and_labels(self, ids: Sequence[Id], labels: Floats) -> tuple[Floats, Floats]:
        """Return pending rows and their labels, both multiplied by the roots of their weights."""
        rows, y = super().rows_and_labels(ids, labels)
        return rows, y * self._root_weights(ids)

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = super().save()
        discounts = [self.discounts_at_query[id] for id in self.pending]
        return values | {"seen": self.seen, "asked": discounts}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        super().restore(values, arrays)
        self.seen = values["seen"]
        self.discounts_at_query = dict(zip(values["pending"], values["asked"], strict=True))

    def _discount(self, factor: float) -> None:
        self._last_solve = None
        self.labelled.discount(factor, self.model.penalty)
        if self._has_separate_queried:
            cast(Gram, self.queried).discount(factor, self.model.penalty)

    def _root_weights(self, ids: Sequence[Id]) -> Floats:
        since = self.discounts - np.array([self.discounts_at_query[id] for id in ids], dtype=np.int64)
        return np.asarray(self.factor ** (since / 2))
