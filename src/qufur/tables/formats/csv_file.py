"""CSV files. Fields stay text, since 007 is a number in one column and a name in another.

The standard library parses them: polars silently fills short rows with nulls, whatever its options, and has
no batched CSV reader that all of its versions share.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from qufur._internal.counts import counted
from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.cells import TextColumns, cells_at, numbers
from qufur.tables.formats.base import TableFile, check_names, check_width, no_rows, unreadable
from qufur.tables.formats.compression import lines
from qufur.tables.formats.dialect import HEAD, Dialect, dialect_of, reader, with_point

_REMEDY = "Put a line of names on top"


def header_notes(columns: list[str], path: Path) -> list[str]:
    """Return messages about column names that are numbers; raise InvalidError if all are clearly cells.

    Names 0, 1, 2, … are accepted, since tables without names are saved with them.

    >>> header_notes(["wind", "2.5"], Path("t.csv"))
    ['t.csv: a column is called 2.5; if that is a cell, the header is missing. Put a line of names on top.']
    """
    numeric = [name for name in columns if name and numbers([name]) is not None]
    decimals = [name for name in numeric if not name.isdecimal()]
    if not numeric or columns == [str(index) for index in range(len(columns))]:
        return []
    all_numbers, name = len(numeric) == len(columns), (decimals or numeric)[0]
    if all_numbers and (decimals or len(set(columns)) < len(columns)):
        raise invalid("header", path.name, "names of columns", f"numbers such as {name!r}", f"{_REMEDY}.")
    if not (all_numbers or decimals):
        return []
    return [f"{path.name}: a column is called {name}; if that is a cell, the header is missing. {_REMEDY}."]


class CsvFile(TableFile):
    """UTF-8 file with a header line; blank lines are skipped, rows are numbered from 1.

    Parameters
    ----------
    path
        Path of the file; a name with .tsv implies tabs as the delimiter.
    separator, decimal
        Delimiter and decimal mark; detected by default.
    default
        Dialect of earlier tables, if any.
    expected
        Names of columns. A separator with which the header has more of them is preferred.
    """

    format = "CSV"
    dialect: Dialect

    def __init__(
        self,
        path: Path,
        separator: str | None = None,
        decimal: str | None = None,
        default: Dialect | None = None,
        expected: Collection[str] = (),
    ) -> None:
        super().__init__(path)
        has_tabs = ".tsv" in path.name.lower()[-8:]  # also .tsv.gz and .tsv.zst
        separator = "\t" if has_tabs and not separator else separator
        with closing(lines(path)) as text:
            head = list(islice(text, 1))
            check_width(_width(head, separator), path)
            head += islice(text, HEAD - 1)
        self.dialect = dialect_of(head, separator, decimal, default, expected)
        detected = dialect_of(head, separator, decimal, columns=expected) if default else self.dialect
        default = default or Dialect()
        given = Dialect(separator or default.separator, decimal or default.decimal)
        self.notes = self.dialect.describe(path.name, given, detected)
        records = self._records()
        self.columns = [name.strip() for name in next(records, [])]
        check_width(len(self.columns), path)
        self.notes += header_notes(self.columns, path)
        check_names(self.columns, path)
        if next(records, None) is None:
            raise no_rows(path)

    def count(self) -> int:
        """Count the rows in one pass over the file."""
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
        separator = self.dialect.separator
        # The traceback of an error would keep the file open, so it is closed explicitly.
        with closing(lines(self.path)) as text:
            try:
                yield from _of_equal_width(reader(text, separator), self.path, separator)
            except csv.Error as error:
                raise unreadable(self.path, self.format, error) from None


def _width(head: list[str], separator: str | None) -> int:
    """Return the number of columns of the first line.

    A file with too many columns is rejected by it, much faster than detection reads all lines of the head.
    """
    with suppress(csv.Error):  # raised again when rows are read
        return len(next(reader(head, separator or dialect_of(head).separator), []))
    return 0


def _of_equal_width(records: Iterable[list[str]], path: Path, separator: str) -> Iterator[list[str]]:
    """Yield the non-blank records; raise InvalidError if one is not as wide as the header."""
    width = 0
    for row, cells in enumerate(filter(None, records)):
        width = width or len(cells)
        if len(cells) != width:
            separators = "commas" if separator == "," else f"separators, {separator!r},"
            remedy = f"Check its {separators} and quotes."
            allowed = f"{counted(width, 'field')} wide like the header"
            raise invalid(f"row {row}", path.name, allowed, counted(len(cells), "field"), remedy)
        yield cells
