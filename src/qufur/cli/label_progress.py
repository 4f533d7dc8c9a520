"""How far labelling has come: rows, labels, money and the error, on a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from qufur.labelling.feed import Feed
from qufur.labelling.journal import Journal
from qufur.workbook import Workbook

EVERY = 0.5
"""Seconds between two looks: an estimate of the error takes time."""


class Bar:
    """One line that is written over and over."""

    def __init__(self, book: Workbook, journal: Journal, *, quiet: bool) -> None:
        self._book, self._journal, self._next = book, journal, 0.0
        self._status = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("Labelling")

    def __enter__(self) -> Bar:
        if self._status is not None:
            self._status.start()
        return self

    def update(self, feed: Feed) -> None:
        """Show how things stand."""
        if self._status is None or time.monotonic() < self._next:
            return
        self._status.update(standing(self._book, self._journal, feed.rows))
        self._next = time.monotonic() + EVERY

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()


def standing(book: Workbook, journal: Journal, rows: int) -> str:
    """Return rows, labels, money and the error in one line."""
    learner = book.learner
    estimate = learner.ledger.estimate()
    error = "" if estimate is None or not learner.ledger.answered else f", loss {estimate.value:.3g}"
    money = f", {journal.spent} spent" if journal.spent else ""
    left = "" if learner.left is None else f", {learner.left} left"
    return f"{rows:,} rows, {len(book.told):,} labels{left}, {journal.calls:,} calls{money}{error}"
