"""What a linear learner knows whose labels weigh more the less likely they were bought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, under
from qufur.models.base import Id, Purchases
from qufur.models.engines.base import BlockEngine, play
from qufur.models.gram.posterior import Posterior
from qufur.models.least_squares_state import LeastSquaresState
from qufur.models.lookahead import Arrivals, Effort, Lookahead, Terms
from qufur.tensors import on_host

if TYPE_CHECKING:
    from qufur.models.ridge import Ridge

LARGEST_WEIGHT = 20.0


class WeightedState(LeastSquaresState):
    """A label bought with probability p weighs min(20, (p̄/p)^κ), with p̄ the mean of p up to its example.

    Δ, and what the labels say about the fit, are those without weights. Predictions are those of a posterior
    of its own, `weighted`, which rows and labels enter times the roots of their weights. A weight is set when
    the label is bought, whenever it comes, and kept as the last number of the pending row. What `learn`
    brings weighs 1.

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
        self._noted: dict[Id, float] = {}

    def note_purchases(self, ids: Sequence[Id], purchases: Purchases) -> None:
        """Note the weights of labels that are bought next."""
        with np.errstate(over="ignore", divide="ignore"):
            weights = (purchases.mean_probability / purchases.probability) ** self.importance
        self._noted = dict(zip(ids, np.minimum(weights, LARGEST_WEIGHT).tolist(), strict=True))

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.unscaled(self.weighted.scores(self.model.features(X)))

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that goes on predicting as the state does now."""
        model, scores = self.model, self.weighted.scorer()
        return lambda X: model.unscaled(scores(model.features(X)))

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the one input that is next in the stream; `square` is ‖x‖²."""
        _, uncertainty = super().predict_next(x, square)
        return self.model.unscaled(self.weighted.score_one(self.model.feature_one(x))), uncertainty

    @property
    def posteriors(self) -> list[Posterior]:
        """All matrices that there are."""
        return [*super().posteriors, self.weighted]

    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead as without weights, and predict with them."""
        found = super().look_ahead(X)
        return WeightedLookahead(self, found) if isinstance(found, BlockEngine) else found

    def await_labels(self, ids: Sequence[Id], rows: Floats) -> None:
        """Take ids among the pending ones, with their weights."""
        super().await_labels(ids, np.column_stack([rows, [self._noted.pop(id, 1.0) for id in ids]]))

    def rows_of(self, ids: Sequence[Id]) -> Floats:
        """Return pending inputs as a matrix, as they enter M."""
        return super().rows_of(ids)[:, :-1]

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""
        self._last_solve = None  # it is of a row without its weight
        self.weighted.add(*self._times_roots(super().rows_of(ids), labels))
        super().label(ids, labels)

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for."""
        super().learn(X, labels)
        self.weighted.add(self.model.features(X), self.model.scaled(labels))

    def as_pending(self, X: Floats) -> Floats:
        """Return inputs as they enter M, with a weight of 1."""
        return np.column_stack([super().as_pending(X), np.ones(len(X))])

    def relearn(self, rows: Floats, labels: Floats) -> None:
        """Learn again, with other labels, all rows that have one; they come with their weights."""
        super().relearn(rows[:, :-1], labels)
        self.weighted = self.model.posterior()
        self.weighted.add(*self._times_roots(rows, labels))

    def play(self, rows: Floats, ids: Sequence[Id], queried: Floats, arrivals: Arrivals) -> Floats:
        """Return the scores of a block as labels arrive, of its own queries as well, and learn them."""
        own = {id: np.append(row, self._noted.get(id, 1.0)) for id, row in zip(ids, queried, strict=True)}
        found = [own[id] if id in own else self.pending[id] for id in arrivals.ids]
        weighted = np.array(found).reshape(len(found), rows.shape[1] + 1)
        return play(self.weighted, rows, *self._times_roots(weighted, arrivals.labels), arrivals.before)

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = super().save()
        own = {f"weighted.{name}": array for name, array in self.weighted.arrays().items()}
        return values, arrays | own

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
        super().restore(values, arrays)
        self.weighted = self.model.restored(under("weighted.", arrays))

    @property
    def pending_width(self) -> int:
        """How many numbers a pending row has: its weight is one."""
        return super().pending_width + 1

    def _times_roots(self, rows: Floats, labels: Floats) -> tuple[Floats, Floats]:
        """Return rows that end in their weights, and their labels, both times the roots of these."""
        roots = np.sqrt(rows[:, -1:])
        return rows[:, :-1] * roots, self.model.scaled(labels) * roots[:, 0]


class WeightedLookahead(Lookahead):
    """A block that is decided without weights, and predicted with them."""

    def __init__(self, state: WeightedState, plain: BlockEngine) -> None:
        self._state, self._plain = state, plain

    def __len__(self) -> int:
        return len(self._plain)

    def decide(self, terms: Terms) -> Effort:
        """Decide as without weights."""
        effort = self._plain.decide(terms)
        self.uncertainty, self.queried = self._plain.uncertainty, self._plain.queried
        return effort

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, and absorb the block's queries and labels."""
        rows = self._plain.X
        scores = self._state.play(rows, ids, on_host(rows[self.queried]), arrivals)
        self._plain.finish(ids, arrivals)
        return self._state.model.unscaled(scores)
