"""State of ridge regression with importance-weighted labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur._internal.tensors import on_host
from qufur.arrays import Floats, Ints, strip_prefix
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models.base import State
from qufur.models.engines.base import predict_with_arrivals
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import Arrivals
from qufur.pending import Pending, PendingQueries, purchase_terms

if TYPE_CHECKING:
    from qufur.models.ridge import Ridge

MAX_WEIGHT = 20.0
"""Upper bound of a label's weight."""


class WeightedState(LeastSquaresState):
    """Least-squares state in which a label queried with probability p has weight min(20, (p̄/p)^κ).

    p̄ is the mean of p over the examples up to that one. Δ and the diagnostics of the fit are unweighted.
    Predictions come from a separate posterior, `weighted`, which rows and labels enter multiplied by the
    roots of their weights. A weight is fixed at the query. Labels of `learn` have weight 1. Rows of labels
    that are learned again have their weight as an additional last column.

    >>> from qufur.models import Ridge
    >>> state = Ridge(1, importance=1.0).start()
    >>> query = Pending("a", probability=0.1, mean_probability=0.4)
    >>> state.query([query], np.ones((1, 1)))
    >>> state.label([query], np.ones(1))
    >>> state.predict(np.ones((1, 1))), state.uncertainty(np.ones((1, 1)))  # 4/(1 + 4) and 1/(1 + 1)
    (array([0.8]), array([0.5]))
    """

    def __init__(self, model: Ridge, importance: float, pending: PendingQueries | None = None) -> None:
        super().__init__(model, pending)
        self.importance = importance
        self.weighted: Posterior = model.posterior()

    def frozen(self) -> State:
        """Return a copy for `predict` and `uncertainty` in another thread, while this state changes."""
        frozen = cast(WeightedState, super().frozen())
        frozen.weighted = self.weighted.copy()
        return frozen

    @property
    def predicting(self) -> Posterior:
        """The weighted posterior."""
        return self.weighted

    def record(self, queries: Sequence[Pending], rows: Floats) -> None:
        """Fill in the features and weights of queries."""
        super().record(queries, rows)
        probability, mean, _ = purchase_terms(queries).T
        with np.errstate(over="ignore", divide="ignore"):
            weights = np.minimum((mean / probability) ** self.importance, MAX_WEIGHT)
        for query, weight in zip(queries, weights.tolist(), strict=True):
            query.weight = weight

    def queried_rows(self, queries: Sequence[Pending]) -> Floats:
        """Return the rows of queries as they enter M, with their weights as the last column."""
        return np.column_stack([self.rows_of(queries), [query.weight for query in queries]])

    def label(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Learn the labels of recorded queries."""
        self._last_solve = None  # it belongs to the unweighted row
        self.weighted.add(*self._times_roots(self.queried_rows(queries), labels))
        super().label(queries, labels)

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not queried."""
        super().learn(X, labels)
        self.weighted.add(self.model.features(X), self.model.scaled(labels))

    def stored_rows(self, X: Floats) -> Floats:
        """Return inputs as they enter M, with a weight of 1."""
        return np.column_stack([super().stored_rows(X), np.ones(len(X))])

    def relabel(self, rows: Floats, labels: Floats) -> None:
        """Replace the labels of all labelled rows, whose last column is the weight, and learn them again."""
        super().relabel(rows[:, :-1], labels)
        self.weighted = self.model.posterior()
        self.weighted.add(*self._times_roots(rows, labels))

    def predict_block(
        self, rows: Any, queried: Ints, queries: Sequence[Pending], arrivals: Arrivals
    ) -> Floats:
        """Return the scores of a block as labels arrive, including those of its queries, and learn them."""
        self.record(queries, on_host(rows[queried]))
        answered = self.queried_rows(arrivals.queries).reshape(-1, rows.shape[1] + 1)
        X, y = self._times_roots(answered, arrivals.labels)
        return predict_with_arrivals(self.weighted, rows, X, y, arrivals.before)

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = super().save()
        weighted = {f"weighted.{name}": array for name, array in self.weighted.arrays().items()}
        return values, arrays | weighted

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        super().restore(values, arrays)
        self.weighted = self.model.restored(strip_prefix("weighted.", arrays))

    def _times_roots(self, rows: Floats, labels: Floats) -> tuple[Floats, Floats]:
        """Multiply rows, whose last column is the weight, and their labels by the roots of the weights."""
        roots = np.sqrt(rows[:, -1:])
        return rows[:, :-1] * roots, self.model.scaled(labels) * roots[:, 0]
