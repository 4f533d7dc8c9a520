"""The look-ahead of a committee: Δ decides a block, and predictions follow the labels as they arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.base import Id
from qufur.models.lookahead import Arrivals, Effort, Lookahead, Terms

if TYPE_CHECKING:
    from qufur.models.experts.state import CommitteeState


DOUBT_AT_LEAST = 0.02


class CommitteeLookahead(Lookahead):
    """A block within one scaling: predictions follow the labels, and experts are fitted anew where due."""

    largest_loss: Floats

    def __init__(self, state: CommitteeState, X: Floats) -> None:
        self._state = state
        self._X = X
        self._consulted = slice(0, 0)
        self._said = np.empty(0)

    def __len__(self) -> int:
        return len(self._X)

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive."""
        state, X = self._state, self._X
        predictions, self.largest_loss = np.empty(len(X)), np.empty(len(X))
        asked = deque(zip(self.queried.tolist(), ids, strict=True))
        for rows, labels in _stretches(arrivals, len(X)):
            said = self._consult(rows, arrivals.before[labels.start :])
            outputs = state.combine(said)
            predictions[rows] = here = state.model.predictions(outputs)
            self.largest_loss[rows] = state.model.largest_loss_within(here, state.labels)
            while asked and asked[0][0] < rows.stop:
                row, id = asked.popleft()
                state.await_label(id, X[row], said[row - rows.start], outputs[row - rows.start])
            if labels.start < len(arrivals.ids):
                state.label(arrivals.ids[labels], arrivals.labels[labels])
        state.scaling.take_in(X)
        return predictions

    def _consult(self, rows: slice, before: Ints) -> Floats:
        """Return what the experts say about some rows; `before` says where labels are still to come.

        They are asked about all rows up to the next fit at once.
        """
        state = self._state
        if rows.start >= self._consulted.stop:
            due = state.board.next_fit() - len(state.labelled) - 1
            stop = int(before[due]) if due < len(before) else len(self._X)
            self._consulted = slice(rows.start, max(stop, rows.stop))
            self._said = state.ask_experts(self._X[self._consulted])
        start = self._consulted.start
        return state.model.bounded_outputs(self._said[rows.start - start : rows.stop - start], state.labels)


class NoveltyLookahead(CommitteeLookahead):
    """Δ is how new an input is: M at the start of the block decides all of it."""

    def __init__(self, state: CommitteeState, X: Floats) -> None:
        self._look = state.novelty.look_ahead(state.scaling.units.transform(X))
        super().__init__(state, X[: len(self._look)])

    def decide(self, terms: Terms) -> Effort:
        """Let the linear learner decide."""
        effort = self._look.decide(terms)
        self.uncertainty, self.queried = self._look.uncertainty, self._look.queried
        return effort

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive; the linear learner is told 0 for all of them."""
        self._state.novelty.finish(self._look, ids)
        return super().finish(ids, arrivals)


class DoubtLookahead(CommitteeLookahead):
    """Δ is how doubtful a class is, which every label may change."""

    def __init__(self, state: CommitteeState, X: Floats, *, ends_with_query: bool) -> None:
        super().__init__(state, X)
        self._ends_with_query = ends_with_query
        self.rows_at_once = 1 if ends_with_query else None
        self._consulted = slice(0, len(X))
        self._said = state.ask_experts(X)
        outputs = state.combine(state.model.bounded_outputs(self._said, state.labels))
        self.uncertainty = doubt(outputs)
        self._decided = 0

    def decide(self, terms: Terms) -> Effort:
        """Buy the labels that are wanted; nothing that is bought changes Δ before its label comes."""
        rows, queried = range(len(terms.lowest_threshold)), []
        lowest = terms.lowest_threshold.tolist()
        for row, delta in zip(rows, self.uncertainty[self._decided :].tolist(), strict=False):
            if delta > lowest[row]:
                queried.append(self._decided + row)
                if terms.buy(row, delta):
                    lowest = terms.lowest_threshold.tolist()
        self._decided += len(rows)
        self.queried = np.concatenate([self.queried, np.array(queried, dtype=np.int64)])
        if queried and self._ends_with_query:
            self._X = self._X[: self._decided]
            self.uncertainty = self.uncertainty[: self._decided]
        return Effort(len(rows), len(queried), len(queried))


def doubt(probabilities: Floats) -> Floats:
    """Return 1.02 less the difference of the two largest probabilities of each row.

    >>> doubt(np.array([[0.5, 0.5], [1.0, 0.0]]))
    array([1.02, 0.02])
    """
    second, first = np.partition(probabilities, -2, axis=1)[:, -2:].T
    return np.asarray(1 + DOUBT_AT_LEAST - (first - second))


def _stretches(arrivals: Arrivals, count: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows that are predicted alike, and the labels that arrive after them."""
    edges = [*np.flatnonzero(np.diff(arrivals.before, prepend=-1)).tolist(), len(arrivals.before)]
    start = 0
    for first, last in pairwise(edges):
        stop = int(arrivals.before[first])
        yield slice(start, stop), slice(first, last)
        start = stop
    yield slice(start, count), slice(edges[-1], None)
