"""The look-ahead of a committee: Δ decides a block, and predictions follow the labels as they arrive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.models.base import Id
from qufur.models.lookahead import NO_ARRIVALS, Arrivals, Effort, Lookahead, Terms

if TYPE_CHECKING:
    from qufur.models.experts.state import CommitteeState


class CommitteeLookahead(Lookahead):
    """A block within one scaling: M at its start decides, experts are fitted anew inside it where due."""

    largest_loss: Floats

    def __init__(self, state: CommitteeState, X: Floats) -> None:
        self._state = state
        Z = state.novelty.scaling.transform(X)
        self._look = state.novelty.look_ahead(Z)
        self._X, self._Z = X[: len(self._look)], Z[: len(self._look)]
        self._consulted = slice(0, 0)
        self._said = np.empty(0)
        self.largest_loss = np.empty(len(self._X))

    def __len__(self) -> int:
        return len(self._X)

    def decide(self, terms: Terms) -> Effort:
        """Let the linear learner decide."""
        effort = self._look.decide(terms)
        self.uncertainty, self.queried = self._look.uncertainty, self._look.queried
        return effort

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive."""
        told = Arrivals(ids, np.zeros(len(ids)), self.queried + 1) if len(ids) else NO_ARRIVALS
        self._look.finish(ids, told)
        state, predictions = self._state, np.empty(len(self._X))
        for rows, labels in _stretches(arrivals, len(self._X)):
            said = self._consult(rows, arrivals.before[labels.start :])
            predictions[rows] = state.model.predictions(state.combine(said))
            self.largest_loss[rows] = state.model.largest_loss_within(predictions[rows], state.labels)
            first, last = np.searchsorted(self.queried, (rows.start, rows.stop))
            asked = self.queried[first:last]
            state.await_labels(ids[first:last], self._X[asked], said[asked - rows.start])
            state.label(arrivals.ids[labels], arrivals.labels[labels])
        state.novelty.scaling.take_in(self._X)
        return predictions

    def _consult(self, rows: slice, before: Floats) -> Floats:
        """Return what the experts say about some rows; `before` says where labels are still to come.

        They are asked about all rows up to the next fit at once.
        """
        state = self._state
        if rows.start >= self._consulted.stop:
            due = state.next_fit() - len(state.labelled) - 1
            stop = int(before[due]) if due < len(before) else len(self._X)
            self._consulted = slice(rows.start, max(stop, rows.stop))
            self._said = state.panel.predict(self._X[self._consulted], self._Z[self._consulted])
        start = self._consulted.start
        return state.model.bounded_outputs(self._said[rows.start - start : rows.stop - start], state.labels)


def _stretches(arrivals: Arrivals, count: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows that are predicted alike, and the labels that arrive after them."""
    edges = [*np.flatnonzero(np.diff(arrivals.before, prepend=-1)).tolist(), len(arrivals.before)]
    start = 0
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        stop = int(arrivals.before[first])
        yield slice(start, stop), slice(first, last)
        start = stop
    yield slice(start, count), slice(edges[-1], None)
