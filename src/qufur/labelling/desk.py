"""Where rows wait for their labels: opinions are asked for and come, until a row is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qufur.labelling.calls import Calls
from qufur.labelling.journal import Request
from qufur.labelling.votes import needed, verdict
from qufur.models.base import Id

FAILURES = 5
"""After so many rows in a row without a label the labeller is taken to be out of order."""


class OutOfOrderError(RuntimeError):
    """A labeller that brings no labels at all; what it said last is its cause."""


@dataclass
class _Row:
    item: Any
    opinions: dict[int, Any] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)


@dataclass
class Desk:
    """Rows that are not settled, and what became of the others.

    Parameters
    ----------
    calls
        By which opinions are asked for.
    request
        Makes a call of a row, an item and the number of a vote.
    known
        Returns opinions that are there already, by the number of the vote.
    settle
        Is given a row and its label, None if it is skipped.
    votes
        How many opinions there may be on a row.
    mean
        Whether labels are numbers, of which the mean counts.

    Attributes
    ----------
    labels, skipped, failed
        How many rows got a label and how many were skipped; and by id, why others have none.
    failures
        Rows without a label since the last one with.
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
        """Let a row be labelled."""
        self._rows[id] = _Row(item, dict(self.known(id, item)))
        self._go_on(id)

    def work(self, feed: Callable[[], Iterable[tuple[Id, Any]] | None], look: Callable[[], None]) -> None:
        """Label rows until there are no more, or no money.

        Parameters
        ----------
        feed
            Returns further rows, as few as it can; None if there are none now.
        look
            Is called when something has happened.
        """
        while True:
            while self.calls.wants_more and (rows := feed()) is not None:
                for id, item in rows:
                    self.add(id, item)
            if self.calls.over:
                return
            for outcome in self.calls.collect():
                self._take(outcome.request, outcome.label, outcome.error)
            look()

    def _take(self, request: Request, label: Any, error: Exception | None) -> None:
        row = self._rows.get(request.id)
        if error is not None:
            self._fail(request.id, error)
        elif row is not None:  # which another opinion may have failed
            row.opinions[request.vote] = label
            self._go_on(request.id)

    def _go_on(self, id: Id) -> None:
        """Ask for the opinions that are lacking, or settle a row."""
        row = self._rows[id]
        opinions = [row.opinions[vote] for vote in sorted(row.opinions)]
        lacking = needed(opinions, self.votes)
        if not lacking:
            del self._rows[id]
            self.failures = 0
            label = verdict(opinions, mean=self.mean)
            self.labels, self.skipped = self.labels + (label is not None), self.skipped + (label is None)
            self.settle(id, label)
            return
        new = [vote for vote in range(1, self.votes + 1) if vote not in row.opinions][:lacking]
        for vote in new:
            if vote not in row.asked:
                row.asked.add(vote)
                self.calls.add(self.request(id, row.item, vote))

    def _fail(self, id: Id, error: Exception) -> None:
        if self._rows.pop(id, None) is None:
            return
        self.failed[id] = error
        self.failures += 1
        if self.failures >= max(FAILURES, self.calls.terms.jobs):
            raise OutOfOrderError from error
