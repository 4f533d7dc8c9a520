"""Output of results as terminal tables and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text


def print_json(content: Mapping[str, Any]) -> None:
    """Print a result as JSON; NaN and infinity become null."""
    print(json.dumps(_without_nan(content), indent=2))


def print_result(json: bool, content: Mapping[str, Any], lines: Iterable[str]) -> None:
    """Print the result of a command as JSON, or as lines of text."""
    if json:
        print_json(content)
    else:
        print(*lines, sep="\n")


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]], notes: Sequence[str]
) -> None:
    """Print a table; cells are never truncated, not even in a narrow terminal or a pipe."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, not markup: a file name such as [bold] or a heading such as E[Q] is not a tag.
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


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
