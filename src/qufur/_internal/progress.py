"""Progress bars on stderr, shown on a terminal only."""

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
"""Seconds before the progress bar of rows appears."""


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items and show on stderr how many of `total` are processed."""
    if not sys.stderr.isatty() or not total:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=label, total=total, console=Console(stderr=True), transient=True)


def track_rows(batches: Iterable[Rows], label: str, total: int | None) -> Iterator[Rows]:
    """Yield the batches and show the number of rows and the speed on stderr after `PATIENCE` seconds.

    Parameters
    ----------
    batches, label
        The batches, and the text beside the bar.
    total
        Number of rows; None if unknown.
    """
    if not sys.stderr.isatty():
        yield from batches
        return
    bar, start = _rows_bar(), time.monotonic()
    task = bar.add_task(label, total=total)
    try:
        for batch in batches:
            yield batch
            bar.advance(task, len(batch))
            if time.monotonic() - start >= PATIENCE:
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
