"""Batches of consecutive rows, their columns of numbers, and errors about their cells."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.tables.cells import Column, TextColumns, first_bad, numbers

Read = Callable[[Column], Floats | None]
CORRECT = "Correct the cell or drop the row."
FILL = "Fill it, drop the row, or give `impute=True`."
ROWS, ROWS_OF_TEXT = 2048, 32
"""Rows per batch, without and with text.

Embedding a text takes as long as encoding thousands of numbers, and progress is shown after each batch.
"""


def rows_at_a_time(*, text: bool) -> int:
    """Return the number of rows decided per batch; the last bit of a decision may depend on it."""
    return ROWS_OF_TEXT if text else ROWS


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a table; all batches of a table have the same columns.

    Parameters
    ----------
    columns
        Columns by name, in the order of the file, all of one length. A column is a list of text, numbers,
        lists of numbers and None for missing cells, or a numeric array (n,) or (n, d) with NaN for missing.
    first
        Number of the first row; the rows of a file are numbered from 1.
    file
        Name of the file, for errors.
    numbers
        Names of the columns of a matrix, each with the name of the matrix and its index there.
    before
        Number of rows in the preceding files of the table.

    Examples
    --------
    >>> batch = Batch({"wind": ["1", None]}, 41)
    >>> len(batch), batch.row(1)
    (2, 42)
    """

    columns: Mapping[str, Column]
    first: int = 1
    file: str = "the table"
    numbers: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    before: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def row(self, index: int) -> int:
        """Return the number of a row in its file."""
        return self.first + index

    def has(self, name: str) -> bool:
        """Return whether there is a column of this name."""
        return name in self.columns or name in self.numbers

    def column(self, name: str) -> Column:
        """Return a column, or a column of a matrix; raise InvalidError if there is none of this name."""
        if name in self.columns:
            return self.columns[name]
        if name not in self.numbers:
            raise invalid(f"column {name!r}", self.file, *nearest(name, list(self.columns)))
        matrix, index = self.numbers[name]
        column: NDArray[Any] = np.asarray(self.columns[matrix])[:, index]
        return column

    def cells(self, name: str, impute: bool) -> Column:
        """Return the column of an input; with `impute`, a missing column has empty cells only."""
        if self.has(name):
            return self.column(name)
        if impute:
            return [None] * len(self)
        allowed, received, suggestion = nearest(name, list(self.columns))
        remedy = f"{suggestion} `impute=True` treats a missing column as empty cells.".strip()
        raise invalid(f"column {name!r}", self.file, allowed, received, remedy)

    def plain_numbers(self, names: Sequence[str]) -> Floats:
        """Return columns of numbers, (n, d), with true as 1 and false as 0; no cell may be missing.

        >>> batch = Batch({"wind": ["1", "3"], "late": ["true", "false"]})
        >>> batch.plain_numbers(["late", "wind"]).tolist()
        [[1.0, 1.0], [0.0, 3.0]]
        """
        values = self.numbers_in_text(names)
        if values is None:
            values = np.empty((len(self), len(names)))
            for index, name in enumerate(names):
                values[:, index] = _plain(self.column(name))
            invalid = ~(np.abs(values) < LARGEST).all(axis=0)
            if invalid.any():
                raise self.number_error(names[int(invalid.argmax())], numbers)
        return values

    def numbers_in_text(self, names: Sequence[str]) -> Floats | None:
        """Return text columns that contain only numbers, (n, d), in half the time of one after another.

        Returns None if the columns are not text, or if a cell is missing, not a number or too large. The
        caller then converts the columns one by one, which also finds the invalid cell.
        """
        if not (isinstance(self.columns, TextColumns) and names and self.columns.keys() >= set(names)):
            return None
        values = self.columns.floats(names)
        return values if values is not None and (np.abs(values) < LARGEST).all() else None

    def number_error(self, name: str, read: Read, *, may_be_blank: bool = False) -> ValueError:
        """Build the error for the first cell that is missing, not a number or too large; one must be."""
        cells = self.column(name)
        values = read(cells)
        correct = "Correct it or leave it blank." if may_be_blank else "Correct it or drop the row."
        if values is None:
            return self.cell_error(name, first_bad(cells, read), "finite numbers", correct)
        large = np.abs(values[:, 0]) >= LARGEST
        if large.any():
            return self.cell_error(name, int(large.argmax()), f"numbers below {LARGEST:g} in size", correct)
        missing = int(np.isnan(values[:, 0]).argmax())
        return self.cell_error(name, missing, "finite numbers", "Fill it or drop the row.")

    def cell_error(self, name: str, index: int, allowed: str, remedy: str) -> ValueError:
        """Build the error for the cell of a column in the row with this index."""
        return bad_cell(self.file, name, self.row(index), self.column(name)[index], allowed, remedy)


def _plain(column: Column) -> Floats | float:
    """Return the cells as numbers, and NaN for other ones."""
    if isinstance(column, np.ndarray):
        return column if column.ndim == 1 else np.nan
    values = numbers(column)
    if values is not None:
        return values[:, 0]
    truths = {"true": 1.0, "false": 0.0}
    return np.array([truths.get(cell, np.nan) if isinstance(cell, str) else np.nan for cell in column])


def bad_cell(file: str, column: str, row: int, cell: Any, allowed: str, remedy: str) -> ValueError:
    """Build the error that names file, column, row and cell.

    >>> print(bad_cell("days.csv", "wind", 7, None, "a number in every row", "Fill it."))
    column 'wind' of days.csv must be a number in every row, got an empty cell in row 7. Fill it.
    """
    return invalid(f"column {column!r}", file, allowed, f"{shown(cell)} in row {row}", remedy)


def shown(cell: Any) -> str:
    """Format a cell for an error message, shortened and on one line."""
    cell = cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell
    is_empty = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return "an empty cell" if is_empty else " ".join(reprlib.repr(cell).split())


def spread(columns: Iterable[str], numbers: Mapping[str, tuple[str, int]]) -> list[str]:
    """Return the names of columns, with matrices replaced by their single columns.

    >>> spread(["X", "y"], {"x0": ("X", 0), "x1": ("X", 1)})
    ['x0', 'x1', 'y']
    """
    return [
        name
        for column in columns
        for name in ([name for name, (matrix, _) in numbers.items() if matrix == column] or [column])
    ]


def nearest(name: str, columns: list[str]) -> tuple[str, str, str]:
    """Return the allowed names, the error, and a suggestion for an unknown column name."""
    names = ", ".join(map(repr, columns[:20])) + (f", … ({len(columns)} in all)" if len(columns) > 20 else "")
    close = difflib.get_close_matches(name, columns, n=1)
    return f"one of {names}", "no such column", f"Did you mean {close[0]!r}?" if close else ""
