"""State of linear and kernel least squares, for labels that arrive late, out of order or never."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats, check_shapes, strip_prefix
from qufur.errors import invalid
from qufur.ids import Id
from qufur.models.base import State
from qufur.models.capabilities import FreezesDiagnostics, OnDevice, Relabels
from qufur.models.engines import block_limits, engine_for, prefetch
from qufur.models.gram.gram import Gram
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import BlockLimits, Lookahead

if TYPE_CHECKING:
    from qufur.models._regression import LeastSquares
    from qufur.models.diagnostics.fit import Fit


Solve = tuple[float, Floats, Id | None]
"""q and M⁻¹x of the last input, and its id once it is queried."""


class LeastSquaresState(State, Relabels, OnDevice, FreezesDiagnostics):
    """Two posteriors: `queried` gives Δ, `labelled` gives predictions.

    While no label is pending, both are the same object. A new query is not absorbed until the next input
    (`unabsorbed`): if its label arrives before, one update serves both posteriors and no copy is made. That
    update reuses the solve of the input (`_last_solve`) while M is unchanged. After retractions, M is rebuilt
    once, at the next input, from the labelled rows and the remaining queries.

    Attributes
    ----------
    expected
        Prefetched tensor, and its rows as they enter M.
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
        """Posterior of all queries, which gives Δ; rebuilt first if a retraction made it stale."""
        if self._queried is None:
            self._queried = self._rebuilt()
        return self._queried

    @queried.setter
    def queried(self, posterior: Posterior) -> None:
        self._queried = posterior

    @property
    def takes_device(self) -> bool:
        """Whether a torch device can decide blocks: true for linear models."""
        return isinstance(self.labelled, Gram)

    @property
    def posteriors(self) -> list[Posterior]:
        """All posteriors of the state."""
        return [self.queried] if self.queried is self.labelled else [self.queried, self.labelled]

    def block_limits(self, at_once: bool) -> BlockLimits:
        """Return the block limits of the engine."""
        return block_limits(self.queried, at_once, None if self.device is None else self.model.dim)

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.unscaled(self.labelled.scores(self.model.features(X)))

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that predicts from a frozen copy of the current state."""
        model, scores = self.model, self.labelled.scorer()
        return lambda X: model.unscaled(scores(model.features(X)))

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        gram = self._rebuilt() if self._queried is None else self._queried
        if self.unabsorbed:  # on a copy: reading must not change the state, not even its rounding
            gram = gram.copy()
            gram.add(self.rows_of(self.unabsorbed))
        return self.model.uncertainty_of(gram.variance(self.model.features(X)))

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the next input of the stream; `square` is ‖x‖²."""
        model = self.model
        if self.unabsorbed:
            self._absorb_pending()
        row = model.feature_one(x)
        queried = self.queried
        queried.prepare_for(square + len(row) - len(x))  # an intercept adds 1
        variance, solved = queried.posterior_one(row)
        self._last_solve = None if solved is None else (variance, solved, None)
        return model.unscaled(self.labelled.score_one(row)), model.uncertainty_of(variance)

    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead over the longest prefix of X that fits into one block without loss of precision."""
        self._last_solve = None
        self._absorb_pending()
        return engine_for(self, X)

    def prefetch(self, X: Any) -> None:
        """Start work on X on the device, if there is one."""
        if self.device is not None:
            prefetch(self, X)

    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Record queries for the labels of these rows."""
        self.add_pending(ids, self.model.features(X))
        self.unabsorbed.extend(ids)
        if self._last_solve is not None:
            variance, solved, _ = self._last_solve
            self._last_solve = variance, solved, ids[0]

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""
        last, self._last_solve = self._last_solve, None
        is_last_query = last is not None and self.unabsorbed == list(ids) == [last[2]]
        if last is not None and is_last_query and self.labelled is self._queried:
            y = self.model.scaled(labels.item())
            cast(Gram, self.labelled).absorb_one(self.pending[ids[0]], last[1], last[0], y)
        else:
            self.labelled.add(*self.rows_and_labels(ids, labels))
        if self._has_separate_queried:
            self.queried.add(self.rows_of([id for id in ids if id in self.unabsorbed]))
        self.remove_pending(ids)

    def retract(self, id: Id) -> None:
        """Remove a pending query."""
        absorbed = id not in self.unabsorbed
        self.remove_pending([id])
        if absorbed and self.pending:
            self._queried = None

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not queried."""
        self._last_solve = None
        rows, y = self.model.features(X), self.model.scaled(labels)
        self.labelled.add(rows, y)
        if self._has_separate_queried:
            self.queried.add(rows)

    def relabel(self, rows: Floats, labels: Floats) -> None:
        """Replace the labels of all labelled rows and learn them again; `rows` are as they enter M."""
        self._last_solve = None
        shared = self.labelled is self._queried
        self.labelled = self.model.posterior()
        self.labelled.add(rows, self.model.scaled(labels))
        if shared:
            self.queried = self.labelled

    def stored_rows(self, X: Floats) -> Floats:
        """Return inputs as they enter M."""
        return self.model.features(X)

    def unlearn(self, indices: Sequence[int], rows: Floats, labels: Floats) -> None:
        """Remove labelled rows; `rows` and `labels` are those that remain, as they enter M."""
        self.relabel(rows, labels)
        if self.pending:
            self._queried = None

    def fit(self) -> Fit:
        """Return diagnostics of the model from the labels so far."""
        from qufur.models.diagnostics.fit import judge

        (low, high), penalty = self.model.label_range, self.model.penalty
        evidence, tests = self.labelled.evidence(penalty), self.labelled.tested()
        return judge(evidence, tests, penalty, unit=(high - low) / 2)

    def fit_later(self) -> Callable[[], Fit]:
        """Return a function that computes `fit` of the current state: O(d²) for the copy now, O(d³) later."""
        frozen = copy(self)
        frozen.labelled = self.labelled.copy()
        return frozen.fit

    def add_pending(self, ids: Sequence[Id], rows: Floats) -> None:
        """Add pending rows; they are copied, since callers may overwrite theirs."""
        for id, row in zip(ids, rows, strict=True):
            self.pending[id] = row.copy()

    def split(self) -> None:
        """Separate the posteriors of queries and labels."""
        if self.labelled is self.queried:
            self.queried = self.labelled.copy()

    def remove_pending(self, ids: Sequence[Id]) -> None:
        """Remove pending rows; without any, one posterior serves queries and labels again."""
        for id in ids:
            del self.pending[id]
        self.unabsorbed = [id for id in self.unabsorbed if id in self.pending]
        if not self.pending:
            self.queried = self.labelled

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        arrays = {f"labelled.{name}": array for name, array in self.labelled.arrays().items()}
        if self._has_separate_queried:
            arrays |= {f"queried.{name}": array for name, array in self.queried.arrays().items()}
        arrays["pending"] = _as_matrix(list(self.pending.values()))
        values = {"pending": list(self.pending), "fresh": self.unabsorbed, "stale": self._queried is None}
        return values, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        self.labelled = self.model.restored(strip_prefix("labelled.", arrays))
        queried = strip_prefix("queried.", arrays)
        self._queried = self.model.restored(queried) if queried else self.labelled
        if values.get("stale"):
            self._queried = None
        if self.model.dim is not None and len(arrays["pending"]):
            check_shapes(arrays, {"pending": "nd"}, d=self.pending_width)
        self.pending = dict(zip(values["pending"], arrays["pending"], strict=True))
        self.unabsorbed = list(values["fresh"])
        if not self.pending.keys() >= set(self.unabsorbed):
            raise invalid("fresh", "a saved state", "among its pending ids", self.unabsorbed)

    def rows_of(self, ids: Sequence[Id]) -> Floats:
        """Return pending rows as a matrix, as they enter M."""
        return _as_matrix([self.pending[id] for id in ids])

    def rows_and_labels(self, ids: Sequence[Id], labels: Floats) -> tuple[Floats, Floats]:
        """Return pending rows and their labels, as they enter M and Σ x y."""
        return self.rows_of(ids), self.model.scaled(labels)

    @property
    def pending_width(self) -> int:
        """Length of a pending row, for a model with a fixed `dim`."""
        return self.model.features(np.zeros((1, cast(int, self.model.dim)))).size

    @property
    def _has_separate_queried(self) -> bool:
        return self._queried is not None and self._queried is not self.labelled

    def _rebuilt(self) -> Posterior:
        """Return the posterior of the labelled rows and the absorbed pending rows."""
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
