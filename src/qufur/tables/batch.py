"""Batches of consecutive rows, and errors about their cells."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.errors import invalid

Column = list[Any] | NDArray[Any]
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

    def cell_error(self, name: str, index: int, allowed: str, remedy: str) -> ValueError:
        """Build the error for the cell of a column in the row with this index."""
        return bad_cell(self.file, name, self.row(index), self.column(name)[index], allowed, remedy)


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
