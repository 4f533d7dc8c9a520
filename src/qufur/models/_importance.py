"""State of ridge regression with importance-weighted labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur._internal.tensors import on_host
from qufur.arrays import Floats, strip_prefix
from qufur.ids import Id
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models.base import Purchases
from qufur.models.capabilities import UsesPurchases
from qufur.models.engines.base import BlockEngine, predict_with_arrivals
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import Arrivals, BlockCost, Lookahead, QueryTerms

if TYPE_CHECKING:
    from qufur.models.ridge import Ridge

MAX_WEIGHT = 20.0
"""Upper bound of a label's weight."""


class WeightedState(LeastSquaresState, UsesPurchases):
    """Least-squares state in which a label queried with probability p has weight min(20, (p̄/p)^κ).

    p̄ is the mean of p over the examples up to that one. Δ and the diagnostics of the fit are unweighted.
    Predictions come from a separate posterior, `weighted`, which rows and labels enter multiplied by the
    roots of their weights. A weight is fixed at the query and stored as the last number of the pending row.
    Labels of `learn` have weight 1.

    >>> from qufur.models import Ridge
    >>> state = Ridge(1, importance=1.0).start()
    >>> state.note_purchases(["a"], Purchases(np.array([0.1]), np.array([0.4]), np.array([False])))
    >>> state.query(["a"], np.ones((1, 1)))
    >>> state.label(["a"], np.ones(1))
    >>> state.predict(np.ones((1, 1))), state.uncertainty(np.ones((1, 1)))  # 4/(1 + 4) and 1/(1 + 1)
    (array([0.8]), array([0.5]))
    """

    def __init__(self, model: Ridge, importance: float) -> None:
        super().__init__(model)
        self.importance = importance
        self.weighted: Posterior = model.posterior()
        self._new_weights: dict[Id, float] = {}

    def note_purchases(self, ids: Sequence[Id], purchases: Purchases) -> None:
        """Compute the weights of the queries that follow."""
        with np.errstate(over="ignore", divide="ignore"):
            weights = (purchases.mean_probability / purchases.probability) ** self.importance
        self._new_weights = dict(zip(ids, np.minimum(weights, MAX_WEIGHT).tolist(), strict=True))

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.unscaled(self.weighted.scores(self.model.features(X)))

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that predicts from a frozen copy of the current state."""
        model, scores = self.model, self.weighted.scorer()
        return lambda X: model.unscaled(scores(model.features(X)))

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the next input of the stream; `square` is ‖x‖²."""
        _, uncertainty = super().predict_next(x, square)
        return self.model.unscaled(self.weighted.score_one(self.model.feature_one(x))), uncertainty

    @property
    def posteriors(self) -> list[Posterior]:
        """All posteriors of the state."""
        return [*super().posteriors, self.weighted]

    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead without weights, and predict with them."""
        unweighted = super().look_ahead(X)
        return WeightedLookahead(self, unweighted) if isinstance(unweighted, BlockEngine) else unweighted

    def add_pending(self, ids: Sequence[Id], rows: Floats) -> None:
        """Add pending rows with their weights."""
        super().add_pending(ids, np.column_stack([rows, [self._new_weights.pop(id, 1.0) for id in ids]]))

    def rows_of(self, ids: Sequence[Id]) -> Floats:
        """Return pending rows as a matrix, as they enter M."""
        return super().rows_of(ids)[:, :-1]

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""
        self._last_solve = None  # it belongs to the unweighted row
        self.weighted.add(*self._times_roots(super().rows_of(ids), labels))
        super().label(ids, labels)

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

    def predict_block(self, rows: Floats, ids: Sequence[Id], queried: Floats, arrivals: Arrivals) -> Floats:
        """Return the scores of a block as labels arrive, including those of its queries, and learn them."""
        new_rows = zip(ids, queried, strict=True)
        new = {id: np.append(row, self._new_weights.get(id, 1.0)) for id, row in new_rows}
        answered = [new[id] if id in new else self.pending[id] for id in arrivals.ids]
        weighted = np.array(answered).reshape(len(answered), rows.shape[1] + 1)
        X, y = self._times_roots(weighted, arrivals.labels)
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

    @property
    def pending_width(self) -> int:
        """Length of a pending row, its weight included."""
        return super().pending_width + 1

    def _times_roots(self, rows: Floats, labels: Floats) -> tuple[Floats, Floats]:
        """Multiply rows, whose last column is the weight, and their labels by the roots of the weights."""
        roots = np.sqrt(rows[:, -1:])
        return rows[:, :-1] * roots, self.model.scaled(labels) * roots[:, 0]


class WeightedLookahead(Lookahead):
    """Look-ahead that decides without weights and predicts with them."""

    def __init__(self, state: WeightedState, unweighted: BlockEngine) -> None:
        self._state, self._unweighted = state, unweighted

    def __len__(self) -> int:
        return len(self._unweighted)

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Decide without weights."""
        cost = self._unweighted.decide(terms)
        self.uncertainty, self.queried = self._unweighted.uncertainty, self._unweighted.queried
        return cost

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, and absorb the block's queries and labels."""
        rows = self._unweighted.X
        scores = self._state.predict_block(rows, ids, on_host(rows[self.queried]), arrivals)
        self._unweighted.finish(ids, arrivals)
        return self._state.model.unscaled(scores)
