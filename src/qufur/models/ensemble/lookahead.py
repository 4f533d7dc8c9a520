"""Look-aheads of an ensemble: blocks decided by leverage or by margin uncertainty."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.lookahead import Arrivals, BlockCost, Lookahead, QueryTerms
from qufur.pending import Pending

if TYPE_CHECKING:
    from qufur.models.ensemble.state import EnsembleState


MIN_MARGIN_UNCERTAINTY = 0.02
"""Δ of a row whose class has probability 1."""


class EnsembleLookahead(Lookahead):
    """A block within one scaling. Predictions use the labels that have arrived, and due fits run."""

    largest_loss: Floats

    def __init__(self, state: EnsembleState, X: Floats) -> None:
        self._state = state
        self._X = X
        self._predicted = slice(0, 0)
        self._outputs = np.empty(0)

    def __len__(self) -> int:
        return len(self._X)

    def finish(self, queries: Sequence[Pending], arrivals: Arrivals) -> Floats:
        """Predict all rows in stream order, and learn each label where it arrives."""
        state, X = self._state, self._X
        predictions, self.largest_loss = np.empty(len(X)), np.empty(len(X))
        unrecorded = deque(zip(self.queried.tolist(), queries, strict=True))
        for rows, labels in _segments(arrivals, len(X)):
            expert_outputs = self._bounded_predictions(rows, arrivals.before[labels.start :])
            outputs = state.combine(expert_outputs)
            predictions[rows] = state.model.predictions(outputs)
            self.largest_loss[rows] = state.model.largest_loss_within(predictions[rows], state.labels)
            while unrecorded and unrecorded[0][0] < rows.stop:
                row, query = unrecorded.popleft()
                index = row - rows.start
                state.record(query, X[row], expert_outputs[index], outputs[index])
            if labels.start < len(arrivals.queries):
                state.label(arrivals.queries[labels], arrivals.labels[labels])
        state.scaling.update(X)
        return predictions

    def _bounded_predictions(self, rows: slice, before: Ints) -> Floats:
        """Return the clipped expert outputs for rows; `before` has the rows before which later labels arrive.

        The experts predict all rows up to the next fit in one batch.
        """
        state = self._state
        if rows.start >= self._predicted.stop:
            due = state.schedule.next_fit() - len(state.labelled) - 1
            stop = int(before[due]) if due < len(before) else len(self._X)
            self._predicted = slice(rows.start, max(stop, rows.stop))
            self._outputs = state.expert_predictions(self._X[self._predicted])
        start = self._predicted.start
        return state.model.clip_outputs(self._outputs[rows.start - start : rows.stop - start], state.labels)


class LeverageLookahead(EnsembleLookahead):
    """Look-ahead whose Δ is the leverage, decided by the linear model for the whole block."""

    def __init__(self, state: EnsembleState, X: Floats) -> None:
        self._look = state.leverage.inputs.look_ahead(state.scaling.units.transform(X))
        super().__init__(state, X[: len(self._look)])

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Decide with the leverage of the linear model."""
        cost = self._look.decide(terms)
        self.uncertainty, self.queried = self._look.uncertainty, self._look.queried
        return cost

    def finish(self, queries: Sequence[Pending], arrivals: Arrivals) -> Floats:
        """Predict and learn as the base class does, and record the queries for M."""
        self._state.leverage.finish(self._look, queries)
        return super().finish(queries, arrivals)


class MarginLookahead(EnsembleLookahead):
    """Look-ahead whose Δ is the margin uncertainty, which every label may change."""

    def __init__(self, state: EnsembleState, X: Floats, *, ends_with_query: bool) -> None:
        super().__init__(state, X)
        self._ends_with_query = ends_with_query
        self.rows_at_once = 1 if ends_with_query else None
        self._predicted = slice(0, len(X))
        self._outputs = state.expert_predictions(X)
        outputs = state.combine(state.model.clip_outputs(self._outputs, state.labels))
        self.uncertainty = margin_uncertainty(outputs)
        self._decided = 0

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Buy the labels of rows whose Δ exceeds the threshold; Δ does not change before a label arrives."""
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
        return BlockCost(len(rows), len(queried), len(queried))


def margin_uncertainty(probabilities: Floats) -> Floats:
    """Return 1.02 minus the difference of the two largest probabilities of each row.

    >>> margin_uncertainty(np.array([[0.5, 0.5], [1.0, 0.0]]))
    array([1.02, 0.02])
    """
    second, first = np.partition(probabilities, -2, axis=1)[:, -2:].T
    return np.asarray(1 + MIN_MARGIN_UNCERTAINTY - (first - second))


def _segments(arrivals: Arrivals, count: int) -> Iterator[tuple[slice, slice]]:
    """Yield the rows between arrivals of labels, and the labels that arrive after them."""
    edges = [*np.flatnonzero(np.diff(arrivals.before, prepend=-1)).tolist(), len(arrivals.before)]
    start = 0
    for first, last in pairwise(edges):
        stop = int(arrivals.before[first])
        yield slice(start, stop), slice(first, last)
        start = stop
    yield slice(start, count), slice(edges[-1], None)
