"""A progress bar on a terminal, silence in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items and show on stderr how many of `total` are done."""
    if not sys.stderr.isatty() or not total:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=label, total=total, console=Console(stderr=True), transient=True)
