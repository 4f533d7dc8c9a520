"""What a least-squares learner knows, with labels that come late, out of order, or never."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats, check_shapes
from qufur.errors import invalid
from qufur.models.base import Id, State
from qufur.models.diagnostics.fit import Fit, judge
from qufur.models.engines import engine_for, expect, reach
from qufur.models.gram.gram import Gram
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import Lookahead, Reach

if TYPE_CHECKING:
    from qufur.models.least_squares import LeastSquares


Solve = tuple[float, Floats, Id | None]
"""What was computed of the last input: q and M⁻¹x, and its id once its label is asked for."""


class LeastSquaresState(State):
    """Two posteriors: `queried` gives Δ, `labelled` gives predictions.

    While no label is outstanding they are one object. A query whose label may come before the next input
    is not absorbed yet (`unabsorbed`): if the label does come, one update serves both and no copy is made.
    What was computed when its input came is kept for that (`_last_solve`), as long as M stays as it was.
    After a retraction M is rebuilt from the labelled rows and the queries that remain, at the next input:
    however many were retracted until then.

    Attributes
    ----------
    expected
        A tensor with which a device has begun, and its rows as M takes them.
    """

    model: LeastSquares

    def __init__(self, model: LeastSquares) -> None:
        self.model = model
        self.labelled = model.posterior()
        self._queried: Posterior | None = self.labelled
        self.pending: dict[Id, Floats] = {}
        self.unabsorbed: list[Id] = []
        self._last_solve: Solve | None = None
        self.expected: tuple[Any, Any] | None = None

    @property
    def queried(self) -> Posterior:
        """What gives Δ, for whoever goes on to change it."""
        if self._queried is None:
            self._queried = self._rebuilt()
        return self._queried

    @queried.setter
    def queried(self, posterior: Posterior) -> None:
        self._queried = posterior

    @property
    def takes_device(self) -> bool:
        """Whether blocks can be decided on a device of torch: M is that of a linear model."""
        return isinstance(self.labelled, Gram)

    @property
    def posteriors(self) -> list[Posterior]:
        """All matrices that there are."""
        return [self.queried] if self.queried is self.labelled else [self.queried, self.labelled]

    def reach(self, at_once: bool) -> Reach:
        """Return how far it pays to look ahead, as the engine has it."""
        return reach(self.queried, at_once, None if self.device is None else self.model.dim)

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.unscaled(self.labelled.scores(self.model.features(X)))

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that goes on predicting as the state does now."""
        model, scores = self.model, self.labelled.scorer()
        return lambda X: model.unscaled(scores(model.features(X)))

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        gram = self._rebuilt() if self._queried is None else self._queried
        if self.unabsorbed:  # on a copy: looking must not change the state, not even its rounding
            gram = gram.copy()
            gram.add(self.rows_of(self.unabsorbed))
        return self.model.uncertainty_of(gram.variance(self.model.features(X)))

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the one input that is next in the stream; `square` is ‖x‖²."""
        model = self.model
        if self.unabsorbed:
            self._absorb_pending()
        row = model.feature_one(x)
        queried = self.queried
        queried.prepare_for(square + len(row) - len(x))  # an intercept adds a 1
        variance, solved = queried.posterior_one(row)
        self._last_solve = None if solved is None else (variance, solved, None)
        return model.unscaled(self.labelled.score_one(row)), model.uncertainty_of(variance)

    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X that can be taken together without losing digits."""
        self._last_solve = None
        self._absorb_pending()
        return engine_for(self, X)

    def expect(self, X: Any) -> None:
        """Let the device, if there is one, begin with a tensor that is likely to come next."""
        if self.device is not None:
            expect(self, X)

    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for."""
        self.await_labels(ids, self.model.features(X))
        self.unabsorbed.extend(ids)
        if self._last_solve is not None:
            self._last_solve = *self._last_solve[:2], ids[0]

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""
        last, self._last_solve = self._last_solve, None
        at_hand = last is not None and self.unabsorbed == list(ids) == [last[2]]
        if last is not None and at_hand and self.labelled is self._queried:
            y = self.model.scaled(labels.item())
            cast(Gram, self.labelled).absorb_one(self.pending[ids[0]], last[1], last[0], y)
        else:
            self.labelled.add(*self.rows_and_labels(ids, labels))
        if self._has_own_queries:
            self.queried.add(self.rows_of([id for id in ids if id in self.unabsorbed]))
        self.drop(ids)

    def retract(self, id: Id) -> None:
        """Forget a pending query."""
        absorbed = id not in self.unabsorbed
        self.drop([id])
        if absorbed and self.pending:
            self._queried = None

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for."""
        self._last_solve = None
        rows, y = self.model.features(X), self.model.scaled(labels)
        self.labelled.add(rows, y)
        if self._has_own_queries:
            self.queried.add(rows)

    def relearn(self, rows: Floats, labels: Floats) -> None:
        """Learn again, with other labels, all rows that have one; what is pending stays so.

        The rows are as they enter M.
        """
        self._last_solve = None
        shared = self.labelled is self._queried
        self.labelled = self.model.posterior()
        self.labelled.add(rows, self.model.scaled(labels))
        if shared:
            self.queried = self.labelled

    def as_pending(self, X: Floats) -> Floats:
        """Return inputs as they enter M."""
        return self.model.features(X)

    def forget(self, places: Sequence[int], rows: Floats, labels: Floats) -> None:
        """Unlearn labelled rows; those that stay are as they enter M."""
        self.relearn(rows, labels)
        if self.pending:
            self._queried = None

    def fit(self) -> Fit:
        """Return what the labels so far say about the model."""
        (low, high), penalty = self.model.label_range, self.model.penalty
        evidence, tests = self.labelled.evidence(penalty), self.labelled.tested()
        return judge(evidence, tests, penalty, unit=(high - low) / 2)

    def fit_later(self) -> Callable[[], Fit]:
        """Return a function that computes `fit` as of now: the copy for it takes O(d²), and `fit` O(d³)."""
        frozen = copy(self)
        frozen.labelled = self.labelled.copy()
        return frozen.fit

    def await_labels(self, ids: Sequence[Id], rows: Floats) -> None:
        """Take ids among the pending ones; rows are copied, since callers may write over theirs."""
        for id, row in zip(ids, rows, strict=True):
            self.pending[id] = row.copy()

    def split(self) -> None:
        """Give queries and labels a matrix each."""
        if self.labelled is self.queried:
            self.queried = self.labelled.copy()

    def drop(self, ids: Sequence[Id]) -> None:
        """Take ids off the pending ones; when none is left, one matrix serves again."""
        for id in ids:
            del self.pending[id]
        self.unabsorbed = [id for id in self.unabsorbed if id in self.pending]
        if not self.pending:
            self.queried = self.labelled

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        arrays = {f"labelled.{name}": array for name, array in self.labelled.arrays().items()}
        if self._has_own_queries:
            arrays |= {f"queried.{name}": array for name, array in self.queried.arrays().items()}
        arrays["pending"] = _as_matrix(list(self.pending.values()))
        values = {"pending": list(self.pending), "fresh": self.unabsorbed, "stale": self._queried is None}
        return values, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
        parts: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = array
        self.labelled = self.model.restored(parts["labelled"])
        self._queried = self.model.restored(parts["queried"]) if "queried" in parts else self.labelled
        if values.get("stale"):
            self._queried = None
        if self.model.dim is not None and len(arrays["pending"]):
            check_shapes(arrays, {"pending": "nd"}, d=self.pending_width)
        self.pending = dict(zip(values["pending"], arrays["pending"], strict=True))
        self.unabsorbed = list(values["fresh"])
        if not self.pending.keys() >= set(self.unabsorbed):
            raise invalid("fresh", "a saved state", "among its pending ids", self.unabsorbed)

    def rows_of(self, ids: Sequence[Id]) -> Floats:
        """Return pending inputs as a matrix, as they enter M."""
        return _as_matrix([self.pending[id] for id in ids])

    def rows_and_labels(self, ids: Sequence[Id], labels: Floats) -> tuple[Floats, Floats]:
        """Return pending inputs and their labels, as they enter M and Σ x y."""
        return self.rows_of(ids), self.model.scaled(labels)

    @property
    def pending_width(self) -> int:
        """How many numbers a pending row has, where the model says how many an input has."""
        return self.model.features(np.zeros((1, cast(int, self.model.dim)))).size

    @property
    def _has_own_queries(self) -> bool:
        return self._queried is not None and self._queried is not self.labelled

    def _rebuilt(self) -> Posterior:
        """Return M of the labelled rows and the pending ones, but for the fresh ones."""
        posterior: Posterior = self.labelled.copy()
        posterior.add(self.rows_of([id for id in self.pending if id not in self.unabsorbed]))
        return posterior

    def _absorb_pending(self) -> None:
        if self.unabsorbed:
            self.split()
            self.queried.add(self.rows_of(self.unabsorbed))
            self.unabsorbed = []


def _as_matrix(rows: Sequence[Floats]) -> Floats:
    return np.array(rows).reshape(len(rows), -1 if rows else 0)
