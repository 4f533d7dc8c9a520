"""What a linear learner knows of a target that moves: evidence counts half after a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats
from qufur.models.base import Id
from qufur.models.gram.gram import Gram
from qufur.models.least_squares_state import LeastSquaresState
from qufur.models.lookahead import Lookahead

if TYPE_CHECKING:
    from qufur.models.ridge import Ridge


class ForgettingState(LeastSquaresState):
    """Every `step` examples M − λI and Σ x y shrink by γ = 2^(−step/half_life).

    A row queried before the last k of these fadings has weight γ^k from then on, whenever its label comes:
    row and label enter times the root of it. A fading costs O(d³), so it is done 16 times per half-life and
    not at every example; a weight is then off by less than 5 %. `learn` takes no place in the stream: what it
    brings counts fully, and fades from then on.

    >>> from qufur.models import Ridge
    >>> state = Ridge(1, half_life=16).start()
    >>> state.learn(np.ones((1, 1)), np.ones(1))
    >>> state.advance(16)
    >>> state.predict(np.ones((1, 1))), state.uncertainty(np.ones((1, 1)))  # M = 1 + 1/2, Σ x y = 1/2
    (array([0.33333333]), array([0.66666667]))
    """

    fadings_per_half_life = 16

    labelled: Gram

    def __init__(self, model: Ridge, half_life: int) -> None:
        super().__init__(model)
        self.step = max(1, half_life // self.fadings_per_half_life)
        self.factor = 2.0 ** (-self.step / half_life)
        self.seen = 0
        self.asked: dict[Id, int] = {}

    @property
    def takes_device(self) -> bool:
        """Fadings are done on the host."""
        return False

    @property
    def fadings(self) -> int:
        """How many there were."""
        return self.seen // self.step

    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X that come before the next fading."""
        return super().look_ahead(X[: self.step - self.seen % self.step])

    def advance(self, count: int) -> None:
        """Move on in the stream, and forget where it is time to."""
        before = self.fadings
        self.seen += count
        if self.fadings > before:
            self._fade(self.factor ** (self.fadings - before))

    def await_labels(self, ids: Sequence[Id], rows: Floats) -> None:
        """Take ids among the pending ones, and note how many fadings came before."""
        super().await_labels(ids, rows)
        self.asked.update(dict.fromkeys(ids, self.fadings))

    def drop(self, ids: Sequence[Id]) -> None:
        """Take ids off the pending ones."""
        super().drop(ids)
        for id in ids:
            del self.asked[id]

    def rows_of(self, ids: Sequence[Id]) -> Floats:
        """Return pending inputs times the roots of their weights."""
        return super().rows_of(ids) * self._roots(ids)[:, None]

    def rows_and_labels(self, ids: Sequence[Id], labels: Floats) -> tuple[Floats, Floats]:
        """Return pending inputs and their labels, both times the roots of their weights."""
        rows, y = super().rows_and_labels(ids, labels)
        return rows, y * self._roots(ids)

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = super().save()
        return values | {"seen": self.seen, "asked": [self.asked[id] for id in self.pending]}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
        super().restore(values, arrays)
        self.seen = values["seen"]
        self.asked = dict(zip(values["pending"], values["asked"], strict=True))

    def _fade(self, factor: float) -> None:
        self._last_solve = None
        self.labelled.fade(factor, self.model.penalty)
        if self._has_own_queries:
            cast(Gram, self.queried).fade(factor, self.model.penalty)

    def _roots(self, ids: Sequence[Id]) -> Floats:
        since = self.fadings - np.array([self.asked[id] for id in ids], dtype=np.int64)
        return np.asarray(self.factor ** (since / 2))
