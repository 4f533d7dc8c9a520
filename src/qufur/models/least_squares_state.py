"""What a least-squares learner knows, with labels that come late, out of order, or never."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats, check_shapes
from qufur.errors import invalid
from qufur.models.base import Id, State
from qufur.models.diagnostics.fit import Fit, judge
from qufur.models.engines.base import RidgeLook
from qufur.models.engines.compiled import CompiledLook
from qufur.models.engines.copy_look import CopyLook
from qufur.models.engines.covariance import BlockLook
from qufur.models.engines.panel_look import PanelLook
from qufur.models.gram.gram import Gram
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import Lookahead, OneRow

if TYPE_CHECKING:
    from qufur.models.least_squares import LeastSquares

UNKNOWN = math.nan, None


class RidgeState(State):
    """Two posteriors: `queried` gives Δ, `labelled` gives predictions.

    While no label is outstanding they are one object. A query whose label may come before the next input
    (`fresh`) is not absorbed yet: if the label does come, one update serves both and no copy is made. What
    was computed when its input was met is kept for that (`_ready`), as long as M stays as it was. After a
    retraction M is rebuilt from the labelled rows and the queries that remain, at the next input: however
    many were retracted until then.
    """

    def __init__(self, model: LeastSquares) -> None:
        self.model = model
        self.labelled = model.posterior()
        self._queried: Posterior | None = self.labelled
        self.pending: dict[Id, Floats] = {}
        self.fresh: list[Id] = []
        self._met: tuple[float, Floats | None] = UNKNOWN
        self._ready: dict[Id, tuple[float, Floats]] = {}

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
    def reach(self) -> int:
        """Over how many inputs it pays to look ahead at first: many, if M is small."""
        return 1024 if self._small is not None else super().reach

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
        if self.fresh:  # on a copy: looking must not change the state, not even its rounding
            gram = gram.copy()
            gram.add(self.rows_of(self.fresh))
        return self.model.delta(gram.variance(self.model.features(X)))

    def meet(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the one input that is next in the stream; `square` is ‖x‖²."""
        model = self.model
        if self.fresh:
            self._absorb_fresh()
        row = model.feature(x)
        self.queried.prepare_for(square + len(row) - len(x))  # an intercept adds a 1
        self._met = variance, _ = self.queried.meet(row)
        return model.unscaled(self.labelled.score(row)), model.delta(variance)

    def look(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X that can be taken together without losing digits."""
        self._met = UNKNOWN
        self._absorb_fresh()
        features = self.model.features(X)
        squares = float(np.vdot(features, features))
        self.queried.prepare_for(squares)
        if len(X) == 1:
            return OneRow(self, X)
        small, gram = self._small, cast(Gram, self.queried)
        if small is not None and small.pays(gram, features, squares):
            return small(self, gram, features)
        view = self.queried.view(features)
        (huge,) = np.nonzero(view.variance > RidgeLook.largest_variance)
        if not len(huge):
            return BlockLook(self, view)
        reach = max(1, int(huge[0]))
        return OneRow(self, X[:1]) if reach == 1 else BlockLook(self, self.queried.view(features[:reach]))

    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for."""
        self.await_labels(ids, self.model.features(X))
        self.fresh.extend(ids)
        (variance, solved), self._met = self._met, UNKNOWN
        if solved is not None:
            self._ready = {ids[0]: (variance, solved)}

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""
        ready, self._ready = self._ready.get(ids[0]), {}
        if ready is not None and self.fresh == list(ids) and self.labelled is self._queried:
            # M⁻¹x is at hand of linear models only.
            variance, solved = ready
            y = self.model.scaled(labels.item())
            cast(Gram, self.labelled).absorb_one(self.pending[ids[0]], solved, variance, y)
        else:
            self.labelled.add(*self.evidence(ids, labels))
        if self._has_own_queries:
            self.queried.add(self.rows_of([id for id in ids if id in self.fresh]))
        self.drop(ids)

    def retract(self, id: Id) -> None:
        """Forget a pending query."""
        absorbed = id not in self.fresh
        self.drop([id])
        if absorbed and self.pending:
            self._queried = None

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for."""
        self._ready = {}
        rows, y = self.model.features(X), self.model.scaled(labels)
        self.labelled.add(rows, y)
        if self._has_own_queries:
            self.queried.add(rows)

    def relearn(self, rows: Floats, labels: Floats) -> None:
        """Learn again, with other labels, all rows that have one; what is pending stays so.

        The rows are as they enter M.
        """
        self._ready = {}
        shared = self.labelled is self._queried
        self.labelled = self.model.posterior()
        self.labelled.add(rows, self.model.scaled(labels))
        if shared:
            self.queried = self.labelled

    def fit(self) -> Fit:
        """Return what the labels so far say about the model."""
        (low, high), penalty = self.model.label_range, self.model.penalty
        evidence, tests = self.labelled.evidence(penalty), self.labelled.tested()
        return judge(evidence, tests, penalty, unit=(high - low) / 2)

    def await_labels(self, ids: Sequence[Id], rows: Floats) -> None:
        """Take ids among the pending ones; rows are copied, since callers may write over theirs."""
        for id, row in zip(ids, rows, strict=True):
            self.pending[id] = row.copy()

    def fork(self) -> None:
        """Give queries and labels a matrix each."""
        if self.labelled is self.queried:
            self.queried = self.labelled.copy()

    def drop(self, ids: Sequence[Id]) -> None:
        """Take ids off the pending ones; when none is left, one matrix serves again."""
        for id in ids:
            del self.pending[id]
        self.fresh = [id for id in self.fresh if id in self.pending]
        if not self.pending:
            self.queried = self.labelled

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        arrays = {f"labelled.{name}": array for name, array in self.labelled.arrays().items()}
        if self._has_own_queries:
            arrays |= {f"queried.{name}": array for name, array in self.queried.arrays().items()}
        arrays["pending"] = _as_matrix(list(self.pending.values()))
        values = {"pending": list(self.pending), "fresh": self.fresh, "stale": self._queried is None}
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
            row = self.model.features(np.zeros((1, self.model.dim)))
            check_shapes(arrays, {"pending": "nd"}, d=row.size)
        self.pending = dict(zip(values["pending"], arrays["pending"], strict=True))
        self.fresh = list(values["fresh"])
        if not self.pending.keys() >= set(self.fresh):
            raise invalid("fresh", "a saved state", "among its pending ids", self.fresh)

    def rows_of(self, ids: Sequence[Id]) -> Floats:
        """Return pending inputs as a matrix, as they enter M."""
        return _as_matrix([self.pending[id] for id in ids])

    def evidence(self, ids: Sequence[Id], labels: Floats) -> tuple[Floats, Floats]:
        """Return pending inputs and their labels, as they enter M and Σ x y."""
        return self.rows_of(ids), self.model.scaled(labels)

    @property
    def _small(self) -> type[CopyLook] | None:
        """The kind of look-ahead that suits an M that is small, if it is."""
        gram = self.queried
        kinds: tuple[type[CopyLook], ...] = (CompiledLook, PanelLook) if isinstance(gram, Gram) else ()
        return next((kind for kind in kinds if kind.suits(cast(Gram, gram))), None)

    @property
    def _has_own_queries(self) -> bool:
        return self._queried is not None and self._queried is not self.labelled

    def _rebuilt(self) -> Posterior:
        """Return M of the labelled rows and the pending ones, but for the fresh ones."""
        posterior: Posterior = self.labelled.copy()
        posterior.add(self.rows_of([id for id in self.pending if id not in self.fresh]))
        return posterior

    def _absorb_fresh(self) -> None:
        if self.fresh:
            self.fork()
            self.queried.add(self.rows_of(self.fresh))
            self.fresh = []


def _as_matrix(rows: Sequence[Floats]) -> Floats:
    return np.array(rows).reshape(len(rows), -1 if rows else 0)
