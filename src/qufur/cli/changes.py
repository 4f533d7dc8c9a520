"""How a command leaves its mark: the new state file, what made it, and the versions before."""

from __future__ import annotations

import time
from pathlib import Path

from qufur.storage import versions
from qufur.storage.versions import History
from qufur.workbook import Workbook


def commit(book: Workbook, state: Path, command: str, outcome: str) -> None:
    """Replace the state file, and keep the one that was there for `qufur undo`."""
    book.watch.course.note(book.learner)
    before = versions.keep(state, book.history.before)
    book.history = History(command, outcome, int(time.time()), before)
    book.save(state)
    if before:
        versions.prune(state, before)


def when(seconds: int) -> str:
    """Return a time as people say it: with the day, if that is not today."""
    at, today = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M" if at[:3] == today[:3] else "%Y-%m-%d %H:%M", at)
