"""State of linear and kernel least squares, for labels that arrive late, out of order or never."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats, Ints, strip_prefix
from qufur.errors import invalid
from qufur.models.base import State
from qufur.models.capabilities import FreezesDiagnostics, OnDevice, Relabels
from qufur.models.engines import block_limits, engine_for
from qufur.models.gram.gram import Gram
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import Arrivals, BlockLimits, Lookahead
from qufur.pending import Pending, PendingQueries, check_features, feature_rows

if TYPE_CHECKING:
    from qufur.models._regression import LeastSquares
    from qufur.models.diagnostics.fit import Fit


Solve = tuple[float, Floats, Pending | None]
"""q and M⁻¹x of the last input, and its query once there is one."""


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

    def __init__(self, model: LeastSquares, pending: PendingQueries | None = None) -> None:
        super().__init__(model, pending)
        self.labelled = model.posterior()
        self._queried: Posterior | None = self.labelled
        self.unabsorbed: list[Pending] = []
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
    def predicting(self) -> Posterior:
        """Posterior that gives predictions."""
        return self.labelled

    @property
    def takes_device(self) -> bool:
        """Whether a torch device can decide blocks: true for linear models; discounts run on the host."""
        return isinstance(self.labelled, Gram) and not self.model.tags.forgets

    @property
    def posteriors(self) -> list[Posterior]:
        """All posteriors of the state."""
        return list(dict.fromkeys([self.queried, self.labelled, self.predicting]))

    def block_limits(self, at_once: bool) -> BlockLimits:
        """Return the block limits of the engine."""
        return block_limits(self.queried, at_once, None if self.device is None else self.model.dim)

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.unscaled(self.predicting.scores(self.model.features(X)))

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that predicts from a frozen copy of the current state."""
        model, scores = self.model, self.predicting.scorer()
        return lambda X: model.unscaled(scores(model.features(X)))

    def frozen(self) -> State:
        """Return a copy for `predict` and `uncertainty` in another thread, while this state changes."""
        frozen = copy(self)
        frozen.labelled, frozen.unabsorbed = self.labelled.copy(), [*self.unabsorbed]
        if self._queried is None:
            frozen.queried = self._rebuilt()
        else:
            frozen.queried = self._queried.copy() if self._has_separate_queried else frozen.labelled
        return frozen

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
        return model.unscaled(self.predicting.score_one(row)), model.uncertainty_of(variance)

    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead over the longest prefix of X that fits into one block without loss of precision."""
        self._last_solve = None
        self._absorb_pending()
        return engine_for(self, X)

    def prefetch(self, X: Any) -> None:
        """Start work on X on the device, if there is one."""
        if self.device is not None:
            from qufur.models.engines.gpu import GpuEngine

            GpuEngine.prefetch(self, X)

    def query(self, queries: Sequence[Pending], X: Floats) -> None:
        """Record queries for the labels of these rows."""
        self.record(queries, self.model.features(X))
        self.unabsorbed.extend(queries)
        if self._last_solve is not None:
            variance, solved, _ = self._last_solve
            self._last_solve = variance, solved, queries[0]

    def label(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Learn the labels of recorded queries."""
        last, self._last_solve = self._last_solve, None
        is_last_query = last is not None and self.unabsorbed == list(queries) == [last[2]]
        if last is not None and is_last_query and self.labelled is self._queried:
            y = self.model.scaled(labels.item())
            cast(Gram, self.labelled).absorb_one(cast(Floats, queries[0].features), last[1], last[0], y)
        else:
            self.labelled.add(*self.rows_and_labels(queries, labels))
        if self._has_separate_queried:
            self.queried.add(self.rows_of([query for query in queries if query in self.unabsorbed]))
        self.close()

    def retract(self, query: Pending) -> None:
        """Remove a recorded query."""
        absorbed = query not in self.unabsorbed
        self.close()
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

    def record(self, queries: Sequence[Pending], rows: Floats) -> None:
        """Fill in the features of queries; rows are copied, since callers may overwrite theirs."""
        for query, row in zip(queries, rows, strict=True):
            query.features = row.copy()

    def predict_block(
        self, rows: Any, queried: Ints, queries: Sequence[Pending], arrivals: Arrivals
    ) -> Floats | None:
        """Return the scores of a block as labels arrive, or None if they are those of `labelled`.

        A state with a separate posterior for predictions records the queries and learns the labels there.
        `rows` are those of the block as they enter M, `queried` the indices of `queries` among them.
        """
        return None

    def split(self) -> None:
        """Separate the posteriors of queries and labels."""
        if self.labelled is self.queried:
            self.queried = self.labelled.copy()

    def close(self) -> None:
        """Forget queries that are not pending; without any, one posterior serves queries and labels again."""
        self.unabsorbed = [query for query in self.unabsorbed if query.id in self.pending]
        if not self.pending:
            self.queried = self.labelled

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        arrays = {f"labelled.{name}": array for name, array in self.labelled.arrays().items()}
        if self._has_separate_queried:
            arrays |= {f"queried.{name}": array for name, array in self.queried.arrays().items()}
        fresh = [query.id for query in self.unabsorbed]
        return {"fresh": fresh, "stale": self._queried is None}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        self.labelled = self.model.restored(strip_prefix("labelled.", arrays))
        queried = strip_prefix("queried.", arrays)
        self._queried = self.model.restored(queried) if queried else self.labelled
        if values.get("stale"):
            self._queried = None
        if self.model.dim is not None:
            check_features(self.pending, self.model.features(np.zeros((1, self.model.dim))).size)
        if not self.pending.keys() >= set(values["fresh"]):
            raise invalid("fresh", "a saved state", "among its pending ids", values["fresh"])
        self.unabsorbed = [self.pending[id] for id in values["fresh"]]

    def rows_of(self, queries: Sequence[Pending]) -> Floats:
        """Return the rows of queries as they enter M."""
        return feature_rows(queries)

    def rows_and_labels(self, queries: Sequence[Pending], labels: Floats) -> tuple[Floats, Floats]:
        """Return the rows of queries and their labels, as they enter M and Σ x y."""
        return self.rows_of(queries), self.model.scaled(labels)

    @property
    def _has_separate_queried(self) -> bool:
        return self._queried is not None and self._queried is not self.labelled

    def _rebuilt(self) -> Posterior:
        """Return the posterior of the labelled rows and the absorbed pending rows."""
        posterior: Posterior = self.labelled.copy()
        absorbed = [query for query in self.pending.values() if query not in self.unabsorbed]
        posterior.add(self.rows_of(absorbed))
        return posterior

    def _absorb_pending(self) -> None:
        if self.unabsorbed:
            self.split()
            self.queried.add(self.rows_of(self.unabsorbed))
            self.unabsorbed = []
