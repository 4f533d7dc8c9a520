"""Tables on standard output and in the documentation, and a line of progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Table of measurements for display.

    Parameters
    ----------
    title
        Title above the table.
    header, rows
        Cells; the first column is aligned on the left, the others on the right.
    note
        Remark below the table; empty for none.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __str__(self) -> str:
        return f"{self.title}\n{table(self.header, self.rows)}\n" + (f"{self.note}\n" if self.note else "")

    def markdown(self) -> str:
        """Return the table for a page of the documentation, with the title above."""
        rule = ["---", *["---:"] * (len(self.header) - 1)]
        lines = [" | ".join(line).replace("*", r"\*") for line in (self.header, rule, *self.rows)]
        text = f"{self.title}.\n\n" + "".join(f"| {line} |\n" for line in lines)
        return text + (f"\n{self.note}\n" if self.note else "")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns aligned on the right, the first one on the left."""
    columns = []
    for cells in zip(header, *rows, strict=True):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if columns else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


class Progress:
    """Progress line on stderr that overwrites itself; silent unless stderr is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Replace the line."""
        if self._shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        self.say("")
