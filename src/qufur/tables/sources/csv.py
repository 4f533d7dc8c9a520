"""Comma-separated values.

The standard library reads them here, row by row: polars fills rows that are too short with nulls, without a
word and whatever its options, and has no batched CSV reader that all of its versions share.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.tables.sources.base import Source, bad_cell, first_odd, no_rows, unreadable

LONGEST_CELL = 2**17
"""Characters: after a quote that never closes, no more than this is read."""


class CsvSource(Source):
    """A UTF-8 file with a header line; blank lines are skipped, rows are numbered from 1."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        records = self._records()
        self.columns = [name.strip() for name in next(records, [])]
        if not self.columns:
            raise no_rows(path, "no header")
        if next(records, None) is None:
            raise no_rows(path, "a header only")

    def count(self) -> int:
        """Walk through the file once."""
        return sum(1 for _ in self._records()) - 1

    def blocks(self, names: Sequence[str], size: int) -> Iterator[Floats]:
        """Convert `size` rows at a time."""
        places = self.positions(names)
        # itemgetter of one place returns a bare cell.
        wanted = itemgetter(*places) if len(places) > 1 else lambda record: (record[places[0]],)
        cells = map(wanted, islice(self._records(), 1, None))
        row = 1
        while block := list(islice(cells, size)):
            yield self._floats(block, names, row)
            row += len(block)

    def _records(self) -> Iterator[list[str]]:
        # A byte that is not UTF-8 matters in a number only, and is complained about there.
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            try:
                yield from even(reader(file), self.path)
            except csv.Error as error:
                raise unreadable(self.path, "CSV", error) from None

    def _floats(self, block: list[tuple[str, ...]], names: Sequence[str], first: int) -> Floats:
        try:
            floats = np.array(block, dtype=np.float64)
        except ValueError:
            raise self._first_bad(block, names, first) from None
        if first_odd(floats):
            raise self._first_bad(block, names, first)
        return floats

    def _first_bad(self, block: list[tuple[str, ...]], names: Sequence[str], first: int) -> ValueError:
        cells = (
            (name, row, cell)
            for row, record in enumerate(block, first)
            for name, cell in zip(names, record, strict=True)
        )
        return next(bad_cell(self.path, *place) for place in cells if not _is_sound(place[-1]))


def reader(lines: Iterable[str], longest: int = LONGEST_CELL) -> Iterator[list[str]]:
    """Read records with cells of up to so many characters."""
    csv.field_size_limit(longest)  # of all readers, so every one says it
    return csv.reader(lines)


def even(records: Iterable[list[str]], path: Path) -> Iterator[list[str]]:
    """Yield the records that are not blank, and complain at one that is not as wide as the header."""
    width = 0
    for row, cells in enumerate(filter(None, records)):
        width = width or len(cells)
        if len(cells) != width:
            remedy = "Check its commas and quotes."
            allowed = f"{width} fields wide like the header"
            raise invalid(f"row {row}", path.name, allowed, f"{len(cells)} fields", remedy)
        yield cells


def _is_sound(cell: str) -> bool:
    try:
        return abs(float(cell)) < LARGEST
    except ValueError:
        return False
