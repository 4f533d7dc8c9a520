"""JSON Lines files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.cells import clean
from qufur.tables.formats.base import TableFile, check_width, no_rows
from qufur.tables.formats.compression import lines


class JsonLines(TableFile):
    """JSON Lines file: one object per line.

    A missing key is a missing cell, and blank lines are ignored. The constructor reads the whole file, so
    that all batches have the same columns even if a key first occurs in the last line.
    """

    format = "JSON"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        names: dict[str, None] = {}
        self._count = 0
        for row in _rows(path):
            names.update(dict.fromkeys(row))
            check_width(len(names), path)
            self._count += 1
        if not names:
            raise no_rows(path)
        self.columns = list(names)

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield batches of `size` rows."""
        names = columns or self.columns
        rows, first = _rows(self.path), 1
        while chunk := list(islice(rows, size)):
            cells = {name: [clean(row.get(name)) for row in chunk] for name in names}
            yield Batch(cells, first, self.path.name)
            first += len(chunk)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with closing(lines(path)) as text:
        for number, line in enumerate(text, 1):
            if not line.isspace():
                yield _parse(line, number, path)


def _parse(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise invalid(f"line {number}", path.name, "a JSON object", f"an error ({reason})") from None
    if not isinstance(row, dict):
        raise invalid(f"line {number}", path.name, "a JSON object", f"a {type(row).__name__}")
    return row
