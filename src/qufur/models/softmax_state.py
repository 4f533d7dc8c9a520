"""What a softmax classifier knows, with Δ on the raw features and labels that come late or never."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, Ints, under
from qufur.models.base import Id, State
from qufur.models.lookahead import Arrivals, Effort, Lookahead, Reach, Terms

if TYPE_CHECKING:
    from qufur.models.softmax import Softmax


class SoftmaxState(State):
    """The inputs of a linear learner (`inputs`), which give Δ, beside trained weights (`trainer`).

    The linear learner is told every query and every arrival, but 0 for every label: labels are the
    trainer's business.
    """

    model: Softmax

    def __init__(self, model: Softmax) -> None:
        self.model = model
        self.inputs = model.raw.start()
        self.trainer = model.training.start(model.dim, model.classes)
        self.pending = self.inputs.pending

    def reach(self, at_once: bool) -> Reach:
        """Return how far it pays to look ahead, as the linear learner has it."""
        return self.inputs.reach(at_once)

    def predict(self, X: Floats) -> Floats:
        """Return the most probable class of each row, from the labelled data alone."""
        return self.trainer.predict(X)

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""
        return self.trainer.probabilities(X)

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        return self.inputs.uncertainty(X)

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the class and Δ of the one input that is next in the stream; `square` is ‖x‖²."""
        return self.predict(x[None]).item(), self.inputs.predict_next(x, square)[1]

    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X that the linear learner can take together."""
        return SoftmaxLookahead(self, X, self.inputs.look_ahead(X))

    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for."""
        self.inputs.query(ids, X)

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries, in this order."""
        classes, rows = labels.astype(np.int64), self.inputs.rows_of(ids)
        self.inputs.label(ids, np.zeros(len(ids)))
        self.trainer.learn(rows, classes)

    def retract(self, id: Id) -> None:
        """Forget a pending query."""
        self.inputs.retract(id)

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for, in this order."""
        classes = labels.astype(np.int64)
        self.inputs.learn(X, np.zeros(len(X)))
        self.trainer.learn(X, classes)

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = self.inputs.save()
        trained = {f"trainer.{name}": array for name, array in self.trainer.arrays().items()}
        return values, {f"inputs.{name}": array for name, array in arrays.items()} | trained

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
        self.inputs.restore(values, under("inputs.", arrays))
        self.trainer.restore(under("trainer.", arrays))
        self.pending = self.inputs.pending


class SoftmaxLookahead(Lookahead):
    """The linear learner's look-ahead decides; predictions and training follow the labels as they arrive."""

    def __init__(self, state: SoftmaxState, X: Floats, look: Lookahead) -> None:
        self._state = state
        self._look = look
        self._X = X[: len(look)]

    def __len__(self) -> int:
        return len(self._X)

    def decide(self, terms: Terms) -> Effort:
        """Let the linear learner decide."""
        effort = self._look.decide(terms)
        self.uncertainty, self.queried = self._look.uncertainty, self._look.queried
        return effort

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, training at each arrival."""
        classes = arrivals.labels.astype(np.int64)
        waiting = self._state.pending | dict(zip(ids, self._X[self.queried], strict=True))
        rows = np.array([waiting[id] for id in arrivals.ids]).reshape(len(classes), self._X.shape[1])
        unlabelled = Arrivals(arrivals.ids, np.zeros(len(classes)), arrivals.before)
        self._look.finish(ids, unlabelled)
        return self._play(rows, classes, arrivals.before)

    def _play(self, rows: Floats, classes: Ints, before: Ints) -> Floats:
        trainer, predictions, start = self._state.trainer, np.empty(len(self._X)), 0
        for stop in np.unique(before).tolist():
            predictions[start:stop] = trainer.predict(self._X[start:stop])
            trainer.learn(rows[before == stop], classes[before == stop])
            start = stop
        predictions[start:] = trainer.predict(self._X[start:])
        return predictions
