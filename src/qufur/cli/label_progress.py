"""How far labelling has come: rows, labels, money and the error, on a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from qufur.labelling.feed import Feed
from qufur.labelling.journal import Journal
from qufur.workbook import Workbook

if TYPE_CHECKING:
    from rich.progress import Progress

EVERY = 0.5
"""Seconds between two looks: an estimate of the error takes time."""


class Bar:
    """A bar of the labels that the budget is for, and a line about them."""

    def __init__(self, book: Workbook, journal: Journal, *, quiet: bool) -> None:
        self._book, self._journal, self._next = book, journal, 0.0
        self._bar = None if quiet or not sys.stderr.isatty() else _labels_bar()
        self._task = None if self._bar is None else self._bar.add_task("", total=book.learner.rule.limit)

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def update(self, feed: Feed) -> None:
        """Show how things stand."""
        if self._bar is None or self._task is None or time.monotonic() < self._next:
            return
        learner = self._book.learner
        done = learner.spent - len(learner.outstanding)
        self._bar.update(
            self._task, completed=done, description=standing(self._book, self._journal, feed.rows)
        )
        self._next = time.monotonic() + EVERY

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def standing(book: Workbook, journal: Journal, rows: int) -> str:
    """Return rows, labels, money and the error in one line."""
    learner = book.learner
    estimate = learner.ledger.estimate()
    error = "" if estimate is None or not learner.ledger.answered else f", loss {estimate.value:.3g}"
    money = f", {journal.spent} spent" if journal.spent else ""
    left = "" if learner.left is None else f", {learner.left} left"
    return f"{rows:,} rows, {len(book.told):,} labels{left}, {journal.calls:,} calls{money}{error}"


def _labels_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)
