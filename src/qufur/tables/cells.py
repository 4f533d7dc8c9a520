"""Parsing of cells, the same for all file formats.

A cell is missing if it is None, NaN, blank text, or the text nan, NaN or NaT. A number is a finite number, or
text that `float` parses; true and false are text. `TextColumns` parses the columns of CSV rows on demand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import Bools, Floats

Column = list[Any] | NDArray[Any]

_BLANK = frozenset(["", "nan", "NaN", "NaT"])
_SCALARS = frozenset([str, int, float, type(None)])


def clean_texts(cells: Iterable[str]) -> list[str | None]:
    """Strip whitespace from texts; missing cells become None."""
    texts: list[str | None] = [*map(str.strip, cells)]
    return texts if _BLANK.isdisjoint(texts) else [None if text in _BLANK else text for text in texts]


def clean(cell: Any) -> Any:
    """Return a typed cell as columns store it: stripped text, None for missing, booleans as text.

    >>> [clean(cell) for cell in (" a ", "", True, float("nan"), 2, [1, 2])]
    ['a', None, 'true', None, 2, [1, 2]]
    """
    if isinstance(cell, str):
        return clean_texts([cell])[0]
    if isinstance(cell, bool):
        return str(cell).lower()
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def category(cell: str | float) -> str:
    """Return the category of a cell; 2, 2.0 and the text 2.0 are the same, and so are true and True.

    >>> [category(cell) for cell in (2, 2.0, "2.0", 0.5, "True", "007", "v2.0")]
    ['2', '2', '2', '0.5', 'true', '007', 'v2.0']
    """
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else str(cell)
    text = str(cell)
    whole = text.removesuffix(".0")
    if whole != text and whole.removeprefix("-").isdecimal():
        return whole
    return text.lower() if text in ("True", "False") else text


def listed(column: Column) -> list[Any]:
    """Return a column as a list, with None for missing cells."""
    if not isinstance(column, np.ndarray):
        return column
    cells: list[Any] = column.tolist()
    has_nan = column.ndim == 1 and column.dtype.kind == "f"
    return [None if math.isnan(cell) else cell for cell in cells] if has_nan else cells


def is_missing(column: Column) -> Bools:
    """Return which cells are missing; a list of numbers never is."""
    if isinstance(column, np.ndarray):
        has_nan = column.ndim == 1 and column.dtype.kind == "f"
        return np.isnan(column) if has_nan else np.zeros(len(column), bool)
    if None not in column:
        return np.zeros(len(column), bool)
    return np.array([cell is None for cell in column], bool)


def is_numeric(column: Column) -> bool:
    """Return whether a column is an array with one number per cell."""
    return isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iuf"


def first_other(column: Column) -> int | None:
    """Return the index of the first cell that is neither text nor number nor missing, or None."""
    if isinstance(column, np.ndarray):
        return None if column.ndim == 1 else 0
    if set(map(type, column)) <= _SCALARS:
        return None
    return next(index for index, cell in enumerate(column) if type(cell) not in _SCALARS)


def numbers(column: Column) -> Floats | None:
    """Return the cells as (n, 1) floats, NaN for missing ones; None if a cell is not a finite number.

    >>> numbers(["1", None, 2.5]).ravel()
    array([1. , nan, 2.5])
    >>> numbers(["1", "n/a"]), numbers(["1e999"]), numbers(["2021_03"])
    (None, None, None)
    """
    floats: Floats | None
    if isinstance(column, np.ndarray):
        floats = column.astype(np.float64) if is_numeric(column) else None
    else:
        floats = _from_list(column)
    return None if floats is None or np.isinf(floats).any() else floats[:, None]


def numbers_or_nan(column: Column) -> Floats:
    """Return the cells as (n, 1) floats, NaN for missing cells and for cells that are not numbers.

    >>> numbers_or_nan(["1", None, "n/a"]).ravel()
    array([ 1., nan, nan])
    """
    floats = numbers(column)
    if floats is None:
        cells = (numbers(column[i : i + 1]) for i in range(len(column)))
        floats = np.array([[np.nan] if cell is None else cell[0] for cell in cells])
    return floats


def vectors(column: Column, length: int) -> Floats | None:
    """Return lists of numbers as (n, length) floats; None if a cell is not such a list.

    >>> vectors([[1, 2], None, "[3, 4]"], 2).tolist()
    [[1.0, 2.0], [nan, nan], [3.0, 4.0]]
    """
    cells: Any = column
    if not isinstance(column, np.ndarray):
        cells = [[math.nan] * length if cell is None else unpacked(cell) for cell in column]
    try:
        floats = np.array(cells, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    fits = floats.shape == (len(column), length)
    return floats if fits and np.isfinite(floats[~is_missing(column)]).all() else None


def length_of(cell: Any) -> int:
    """Return the length of a list, or of a JSON list in text; 0 for any other cell."""
    cell = unpacked(cell)
    return len(cell) if isinstance(cell, list | np.ndarray) else 0


def unpacked(cell: Any) -> Any:
    """Parse a text cell as JSON; return any other cell unchanged."""
    try:
        return json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        return cell


def first_bad(column: Column, read: Callable[[Column], Floats | None]) -> int:
    """Return the index of the first cell for which `read` returns None; there must be one."""
    return next(i for i in range(len(column)) if read(column[i : i + 1]) is None)


def _from_list(column: list[Any]) -> Floats | None:
    types = set(map(type, column))
    if not types <= _SCALARS:
        return None
    cells = [math.nan if cell is None else cell for cell in column] if type(None) in types else column
    # float() reads 2021_03 as 202103.
    texts = column if types == {str} else [cell for cell in column if type(cell) is str]
    if "_" in "".join(texts):
        return None
    try:
        floats = np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    # Other spellings of NaN, such as Nan, are text.
    return floats if np.isnan(floats).sum() == column.count(None) else None


class TextColumns(Mapping[str, Column]):
    """Columns of text rows, parsed on first access.

    Parameters
    ----------
    rows
        Rows of equal length.
    names
        Names of the columns, in order.
    """

    def __init__(self, rows: list[tuple[str, ...]], names: list[str]) -> None:
        self._rows, self._names = rows, names
        self._indices = {name: index for index, name in enumerate(names)}
        self._columns: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            cell = itemgetter(self._indices[name])
            self._columns[name] = clean_texts(map(cell, self._rows))
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._indices  # without parsing the column

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))

    def floats(self, names: Sequence[str]) -> Floats | None:
        """Return columns as (n, d) floats in one conversion; None if a cell is not a number."""
        rows = self._rows
        if list(names) != self._names:
            rows = list(map(cells_at([self._indices[name] for name in names]), rows))
        # NumPy reads 2021_03 as 202103.
        if any("_" in row for row in map("".join, rows)):
            return None
        try:
            return np.array(rows, np.float64)
        except ValueError:
            return None

    def at(self, indices: Sequence[int]) -> TextColumns:
        """Return the rows with these indices; other rows are not parsed."""
        return TextColumns([self._rows[i] for i in indices], self._names)


def cells_at(indices: list[int]) -> Callable[[Sequence[str]], tuple[str, ...]]:
    """Return a function that selects these cells of a row.

    >>> cells_at([1])("abc"), cells_at([2, 0])("abc")
    (('b',), ('c', 'a'))
    """
    # itemgetter with one index returns a cell instead of a tuple.
    return itemgetter(*indices) if len(indices) > 1 else lambda row: (row[indices[0]],)
