"""A progress bar on a terminal, silence in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, Task

Item = TypeVar("Item")
Rows = TypeVar("Rows", bound=Sized)
PATIENCE = 1.0
"""Seconds before a bar of rows appears."""


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items and show on stderr how many of `total` are done."""
    if not sys.stderr.isatty() or not total:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=label, total=total, console=Console(stderr=True), transient=True)


def track_rows(batches: Iterable[Rows], label: str, total: int | None) -> Iterator[Rows]:
    """Yield the batches and show on stderr how many rows are done, and how fast, if it takes a while.

    Parameters
    ----------
    batches, label
        What is done, and what to call it.
    total
        How many rows there are; None if nobody knows.
    """
    if not sys.stderr.isatty():
        yield from batches
        return
    bar, begin = _rows_bar(), time.monotonic()
    task = bar.add_task(label, total=total)
    try:
        for batch in batches:
            yield batch
            bar.advance(task, len(batch))
            if time.monotonic() - begin >= PATIENCE:
                bar.start()
    finally:
        bar.stop()


def _rows_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Count(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed or 0.0
            return Text(f"{task.completed:,.0f} rows, {speed:,.{0 if speed >= 10 else 1}f} rows/s")

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), Count(), TimeRemainingColumn()]
    return Progress(*columns, console=Console(stderr=True), transient=True)
