"""Tables on standard output, and a line of progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns aligned on the right, the first one on the left."""
    columns = []
    for cells in zip(header, *rows, strict=True):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if columns else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


class Progress:
    """One line on stderr that is written over and over; nothing unless it is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Replace the line."""
        if self._shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        self.say("")
