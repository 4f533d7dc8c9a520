"""Consecutive rows of a table, and the wording for what can be wrong with a cell."""

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
FILL = "Fill it, drop the row, or give --impute."
ROWS, ROWS_OF_TEXT = 2048, 32
"""Rows at a time; a text takes as long as thousands of numbers, and progress must show."""


def rows_at_a_time(*, text: bool) -> int:
    """Return how many rows are decided at a time, on which the last bit of a decision may depend."""
    return ROWS_OF_TEXT if text else ROWS


@dataclass(frozen=True)
class Batch:
    """Some rows of a table; all batches of a table have the same columns.

    Parameters
    ----------
    columns
        By name, in the order of the file, all of one length. Either a list of text, numbers, lists of numbers
        and None for missing cells, or a numeric array (n,) or (n, d), where NaN is missing.
    first
        The number of the first row; the rows of a file are numbered from 1.
    file
        The name of the file, for errors.
    numbers
        The names of single numbers in a column that is a matrix, with its name and their place there.
    before
        How many rows of the table are in files before this one.

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

    def row(self, place: int) -> int:
        """Return the number that a row has in its file."""
        return self.first + place

    def has(self, name: str) -> bool:
        """Return whether there is a column of this name."""
        return name in self.columns or name in self.numbers

    def column(self, name: str) -> Column:
        """Return a column, or complain that there is none of this name."""
        if name in self.columns:
            return self.columns[name]
        if name not in self.numbers:
            raise invalid(f"column {name!r}", self.file, *nearest(name, list(self.columns)))
        matrix, place = self.numbers[name]
        column: NDArray[Any] = np.asarray(self.columns[matrix])[:, place]
        return column

    def cells(self, name: str, impute: bool) -> Column:
        """Return the column of an input; with `impute` one that is lacking has empty cells."""
        if self.has(name):
            return self.column(name)
        if impute:
            return [None] * len(self)
        allowed, received, meant = nearest(name, list(self.columns))
        remedy = f"{meant} --impute takes a column that is lacking as empty cells.".strip()
        raise invalid(f"column {name!r}", self.file, allowed, received, remedy)

    def refuse(self, name: str, place: int, allowed: str, remedy: str) -> ValueError:
        """Build the error for one of the cells."""
        return bad_cell(self.file, name, self.row(place), self.column(name)[place], allowed, remedy)


def bad_cell(file: str, column: str, row: int, cell: Any, allowed: str, remedy: str) -> ValueError:
    """Build the error that names file, column, row and cell.

    >>> print(bad_cell("days.csv", "wind", 7, None, "a number in every row", "Fill it."))
    column 'wind' of days.csv must be a number in every row, got an empty cell in row 7. Fill it.
    """
    return invalid(f"column {column!r}", file, allowed, f"{shown(cell)} in row {row}", remedy)


def shown(cell: Any) -> str:
    """Return a cell in a few words on one line."""
    cell = cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell
    empty = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return "an empty cell" if empty else " ".join(reprlib.repr(cell).split())


def spread(columns: Iterable[str], numbers: Mapping[str, tuple[str, int]]) -> list[str]:
    """Return the columns, with their single numbers in the place of matrices.

    >>> spread(["X", "y"], {"x0": ("X", 0), "x1": ("X", 1)})
    ['x0', 'x1', 'y']
    """
    return [
        name
        for column in columns
        for name in ([name for name, (matrix, _) in numbers.items() if matrix == column] or [column])
    ]


def nearest(name: str, columns: list[str]) -> tuple[str, str, str]:
    """Return what a name may be, what it is, and what may have been meant by it."""
    shown = ", ".join(map(repr, columns[:20])) + (f", … ({len(columns)} in all)" if len(columns) > 20 else "")
    close = difflib.get_close_matches(name, columns, n=1)
    return f"one of {shown}", "no such column", f"Did you mean {close[0]!r}?" if close else ""
