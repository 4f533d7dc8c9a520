"""Comma-separated values; cells stay text, since 007 is a number in one column and a name in another.

The standard library reads them here, row by row: polars fills rows that are too short with nulls, without a
word and whatever its options, and has no batched CSV reader that all of its versions share.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from qufur.counts import counted
from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.formats.base import TableFile, check_names, check_width, no_rows, unreadable
from qufur.tables.formats.dialect import HEAD, Dialect, dialect_of, reader, with_point
from qufur.tables.formats.header import header_notes
from qufur.tables.formats.text_lines import lines
from qufur.tables.text_cells import TextColumns, cells_at


class CsvFile(TableFile):
    """A UTF-8 file with a header line; blank lines are skipped, rows are numbered from 1.

    Parameters
    ----------
    path
        If it is called .tsv, tabs stand between its cells.
    separator, decimal
        What stands between cells and before decimals; by default found out.
    usual
        What stands there in the tables before, if there were any.
    """

    format = "CSV"
    dialect: Dialect

    def __init__(
        self,
        path: Path,
        separator: str | None = None,
        decimal: str | None = None,
        usual: Dialect | None = None,
    ) -> None:
        super().__init__(path)
        tabs = ".tsv" in path.name.lower()[-8:]
        separator = "\t" if tabs and not separator else separator
        with closing(lines(path)) as text:
            head = list(islice(text, 1))
            check_width(_width(head, separator), path)
            head += islice(text, HEAD - 1)
        self.dialect = dialect_of(head, separator, decimal, usual)
        usual = usual or Dialect()
        expected = Dialect(separator or usual.separator, decimal or usual.decimal)
        self.notes = self.dialect.note(path.name, expected, dialect_of(head, separator, decimal))
        records = self._records()
        self.columns = [name.strip() for name in next(records, [])]
        check_width(len(self.columns), path)
        self.notes += header_notes(self.columns, path)
        check_names(self.columns, path)
        if next(records, None) is None:
            raise no_rows(path)

    def count(self) -> int:
        """Walk through the file once."""
        return sum(1 for _ in self._records()) - 1

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read `size` rows at a time."""
        names = list(columns or self.columns)
        cells = cells_at([self.columns.index(name) for name in names])
        records: Iterator[tuple[str, ...]] = map(cells, self._records())
        next(records)
        if self.dialect.decimal == ",":
            records = (tuple(map(with_point, row)) for row in records)
        first = 1
        while rows := list(islice(records, size)):
            yield Batch(TextColumns(rows, names), first, self.path.name)
            first += len(rows)

    def _records(self) -> Iterator[list[str]]:
        with closing(lines(self.path)) as text:  # now, and not when an error that holds on to it is forgotten
            try:
                yield from _even(reader(text, self.dialect.separator), self.path, self.dialect.separator)
            except csv.Error as error:
                raise unreadable(self.path, self.format, error) from None


def _width(head: list[str], separator: str | None) -> int:
    """Return how many columns the first line has, which is much faster found out than how all are written."""
    with suppress(csv.Error):  # which is said where rows are read
        return len(next(reader(head, separator or dialect_of(head).separator), []))
    return 0


def _even(records: Iterable[list[str]], path: Path, separator: str) -> Iterator[list[str]]:
    """Yield the records that are not blank, and complain at one that is not as wide as the header."""
    width = 0
    for row, cells in enumerate(filter(None, records)):
        width = width or len(cells)
        if len(cells) != width:
            separators = "commas" if separator == "," else f"separators, {separator!r},"
            remedy = f"Check its {separators} and quotes."
            allowed = f"{counted(width, 'field')} wide like the header"
            raise invalid(f"row {row}", path.name, allowed, counted(len(cells), "field"), remedy)
        yield cells
