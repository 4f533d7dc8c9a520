"""Comma-separated values; cells stay text, since 007 is a number in one column and a name in another."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.cells import clean_texts
from qufur.tables.formats.text_lines import lines, no_rows, unreadable
from qufur.tables.sources.csv import even, reader

LONGEST_TEXT = 2**27
"""Characters: a cell may hold a book, but after a quote that never closes no more than this is read."""


def csv_batches(path: Path, size: int) -> Iterator[Batch]:
    """Yield the rows below the header line; blank lines are skipped."""
    records = _records(path)
    names = [name.strip() for name in next(records, [])]
    _check_names(names, path)
    first = 1
    while rows := list(islice(records, size)):
        columns = map(clean_texts, zip(*rows, strict=True))
        yield Batch(dict(zip(names, columns, strict=True)), first, path.name)
        first += len(rows)
    if first == 1:
        raise no_rows(path)


def _records(path: Path) -> Iterator[list[str]]:
    try:
        yield from even(reader(lines(path), LONGEST_TEXT), path)
    except csv.Error as error:
        raise unreadable(path, "CSV", error) from None


def _check_names(names: list[str], path: Path) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise invalid("columns", path.name, "of different names", f"{twice!r} more than once")
