"""Queue of rows to label, with several opinions per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qufur.ids import Id
from qufur.labelling.calls import Calls, Outcome
from qufur.labelling.journal import Request
from qufur.labelling.votes import majority, needed

MAX_FAILURES = 5
"""Consecutive rows without a label after which the run stops; with more jobs than this, as many as jobs."""


class OutOfOrderError(RuntimeError):
    """The labeller failed for many consecutive rows; the last error is the cause."""


@dataclass
class _Row:
    item: Any
    opinions: dict[int, Any] = field(default_factory=dict)
    requested: set[int] = field(default_factory=set)


@dataclass
class LabelQueue:
    """Rows without a label, and counts of the others.

    Parameters
    ----------
    calls
        Calls of the labeller.
    request
        Function that creates a request from a row's id, its item and the number of the vote.
    known
        Function that returns existing opinions by the number of the vote.
    settle
        Function that receives the id of a row and its label, None for a skipped row.
    votes
        Maximum number of opinions per row.
    mean
        Whether labels are numbers, which are averaged.

    Attributes
    ----------
    labels, skipped, failed
        Numbers of labelled and of skipped rows; errors of the other rows by id.
    failures
        Consecutive rows without a label.
    """

    calls: Calls
    request: Callable[[Id, Any, int], Request]
    known: Callable[[Id, Any], Mapping[int, Any]]
    settle: Callable[[Id, Any], None]
    votes: int
    mean: bool
    labels: int = 0
    skipped: int = 0
    failed: dict[Id, Exception] = field(default_factory=dict)
    failures: int = 0
    _rows: dict[Id, _Row] = field(default_factory=dict)

    def add(self, id: Id, item: Any) -> None:
        """Add a row."""
        self._rows[id] = _Row(item, dict(self.known(id, item)))
        self._advance(id)

    def work(self, feed: Callable[[], Iterable[tuple[Id, Any]] | None], look: Callable[[], None]) -> None:
        """Label rows until the feed or the spending limit is exhausted.

        Parameters
        ----------
        feed
            Function that returns the next rows, as few as possible; None at the end.
        look
            Function that is called after each batch of results.
        """
        while True:
            while self.calls.wants_more and (rows := feed()) is not None:
                for id, item in rows:
                    self.add(id, item)
            if self.calls.over:
                return
            for outcome in self.calls.collect():
                self._record(outcome)
            look()

    def _record(self, outcome: Outcome) -> None:
        request, row = outcome.request, self._rows.get(outcome.request.id)
        if row is None:  # another opinion on the row failed
            return
        if outcome.error is None:
            row.opinions[request.vote] = outcome.label
            self._advance(request.id)
            return
        del self._rows[request.id]
        self.failed[request.id] = outcome.error
        self.failures += 1
        if self.failures >= max(MAX_FAILURES, self.calls.limits.jobs):
            raise OutOfOrderError from outcome.error

    def _advance(self, id: Id) -> None:
        """Request missing opinions, or settle the row."""
        row = self._rows[id]
        opinions = [row.opinions[vote] for vote in sorted(row.opinions)]
        missing = needed(opinions, self.votes)
        if not missing:
            del self._rows[id]
            self.failures = 0
            label = majority(opinions, mean=self.mean)
            self.labels, self.skipped = self.labels + (label is not None), self.skipped + (label is None)
            self.settle(id, label)
            return
        new = [vote for vote in range(1, self.votes + 1) if vote not in row.opinions][:missing]
        for vote in new:
            if vote not in row.requested:
                row.requested.add(vote)
                self.calls.add(self.request(id, row.item, vote))
