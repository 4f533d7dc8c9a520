"""Results as tables in a terminal."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.text import Text

    from qufur.experiments.base import Statement
    from qufur.experiments.statistics import Estimate

STYLES = {True: "", False: "bold red", None: "dim"}


def print_json(content: Mapping[str, Any]) -> None:
    """Write a result for machines; what is not known is null."""
    print(json.dumps(_without_nan(content), indent=2))


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]], notes: Sequence[str]
) -> None:
    """Write a table for people; it is never cut, however narrow the terminal or the pipe."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, not markup: files may be called [bold], and E[Q] is no tag.
    table = Table(header_style="")
    for name in columns:
        table.add_column(Text(name), justify="left" if name == columns[0] else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    console = Console(highlight=False)
    needed = Console(width=1000).measure(table).maximum
    console.width = max(console.width, needed)
    console.print(Text(title), style="bold", soft_wrap=True)
    console.print(table)
    for note in notes:
        console.print(Text(note), soft_wrap=True)


def print_statements(title: str, statements: Sequence[Statement]) -> None:
    """Write claims, measurements and verdicts; lines are broken, never cut."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="", show_lines=True)
    for name in ("paper", "statement", "measured", "verdict"):
        table.add_column(name, no_wrap=name == "verdict")
    for part in statements:
        cells = [Text(cell) for cell in (part.source, part.claim, part.measured)]
        table.add_row(*cells, Text(part.verdict, style=STYLES[part.holds]))
    console = Console(highlight=False)
    console.width = max(console.width, 100)
    console.print(title, style="bold", soft_wrap=True)
    console.print(table)
    counts = Counter(part.verdict for part in statements)
    console.print(", ".join(f"{verdict}: {count}" for verdict, count in counts.items()), soft_wrap=True)


def averaged(seeds: int) -> str:
    """Say what the numbers of a table are.

    >>> averaged(1), averaged(5)
    ('One seed.', 'Mean ± standard error over 5 seeds.')
    """
    return "One seed." if seeds == 1 else f"Mean ± standard error over {seeds} seeds."


def best_marked(cells: Mapping[str, Sequence[Estimate]]) -> list[list[str | Text]]:
    """Return a row of text per name; the lowest mean of each column has a star, and is bold on a screen."""
    from rich.text import Text

    means = np.array([[estimate.mean for estimate in row] for row in cells.values()])
    lowest = means == np.nanmin(means, axis=0)
    return [
        [name, *(Text(f"* {e}", "bold") if low else str(e) for e, low in zip(row, lows, strict=True))]
        for (name, row), lows in zip(cells.items(), lowest, strict=True)
    ]


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
