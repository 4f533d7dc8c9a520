"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.cells import clean
from qufur.tables.formats.text_lines import lines, no_rows


def json_batches(path: Path, size: int) -> Iterator[Batch]:
    """Yield the objects as rows, a key that one lacks as a missing cell; blank lines are skipped.

    The file is read twice, first for its keys: all batches have the same columns, wherever a key occurs.
    """
    names: dict[str, None] = {}
    for row in _rows(path):
        names.update(dict.fromkeys(row))
    if not names:
        raise no_rows(path)
    rows, first = _rows(path), 1
    while part := list(islice(rows, size)):
        yield Batch({name: [clean(row.get(name)) for row in part] for name in names}, first, path.name)
        first += len(part)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines(path), 1):
        if not line.isspace():
            yield _row(line, number, path)


def _row(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise invalid(f"line {number}", path.name, "a JSON object", f"an error ({reason})") from None
    if not isinstance(row, dict):
        raise invalid(f"line {number}", path.name, "a JSON object", f"a {type(row).__name__}")
    return row
