"""One reading of cells, whatever the format of the table.

Missing is None, NaN, blank text, and the text nan, NaN or NaT. A number is a finite number or text that
reads as one; true and false are text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.tables.batch import Column

_BLANK = frozenset(["", "nan", "NaN", "NaT"])
_SCALARS = frozenset([str, int, float, type(None)])


def clean_texts(cells: Iterable[str]) -> list[str | None]:
    """Return text without the blanks around it, None where nothing is left."""
    texts: list[str | None] = [*map(str.strip, cells)]
    return texts if _BLANK.isdisjoint(texts) else [None if text in _BLANK else text for text in texts]


def clean(cell: Any) -> Any:
    """Return a cell that came with a type as a column holds it.

    >>> [clean(cell) for cell in (" a ", "", True, float("nan"), 2, [1, 2])]
    ['a', None, 'true', None, 2, [1, 2]]
    """
    if isinstance(cell, str):
        return clean_texts([cell])[0]
    if isinstance(cell, bool):
        return str(cell).lower()
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def category(cell: str | float) -> str:
    """Return the name of a cell as a category; 2, 2.0 and the text 2.0 are one, so are true and True.

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
    """Return a column as a list, None where a cell is missing."""
    if not isinstance(column, np.ndarray):
        return column
    cells: list[Any] = column.tolist()
    return [None if math.isnan(cell) else cell for cell in cells] if column.dtype.kind == "f" else cells


def is_missing(column: Column) -> Bools:
    """Return which cells are missing; a list of numbers never is."""
    if isinstance(column, np.ndarray):
        return (
            np.isnan(column) if column.ndim == 1 and column.dtype.kind == "f" else np.zeros(len(column), bool)
        )
    if None not in column:
        return np.zeros(len(column), bool)
    return np.array([cell is None for cell in column], bool)


def is_numeric(column: Column) -> bool:
    """Return whether a column came as numbers, one per cell."""
    return isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iuf"


def first_other(column: Column) -> int | None:
    """Return the place of the first cell that is neither text nor number nor missing, if there is one."""
    if isinstance(column, np.ndarray):
        return None if column.ndim == 1 else 0
    if set(map(type, column)) <= _SCALARS:
        return None
    return next(place for place, cell in enumerate(column) if type(cell) not in _SCALARS)


def numbers(column: Column) -> Floats | None:
    """Return the cells as (n, 1) floats, NaN where they are missing; None if one is not a number.

    >>> numbers(["1", None, 2.5]).ravel()
    array([1. , nan, 2.5])
    >>> numbers(["1", "n/a"]), numbers(["1e999"]), numbers(["2021_03"])
    (None, None, None)
    """
    floats = _from_array(column) if isinstance(column, np.ndarray) else _from_list(column)
    return None if floats is None or np.isinf(floats).any() else floats[:, None]


def numbers_or_nan(column: Column) -> Floats:
    """Return the cells as (n, 1) floats, NaN also where a cell is no number.

    >>> numbers_or_nan(["1", None, "n/a"]).ravel()
    array([ 1., nan, nan])
    """
    floats = numbers(column)
    if floats is None:
        cells = (numbers(column[place : place + 1]) for place in range(len(column)))
        floats = np.array([[np.nan] if cell is None else cell[0] for cell in cells])
    return floats


def truths(column: list[Any]) -> Floats | None:
    """Return cells that are all true or false as 1 and 0; None if one is not."""
    found = [{"true": 1.0, "false": 0.0}.get(cell) if isinstance(cell, str) else None for cell in column]
    return None if None in found else np.array(found)


def vectors(column: Column, length: int) -> Floats | None:
    """Return cells that are lists of numbers as (n, length) floats; None if one is not.

    >>> vectors([[1, 2], None, "[3, 4]"], 2).tolist()
    [[1.0, 2.0], [nan, nan], [3.0, 4.0]]
    """
    cells = column if isinstance(column, np.ndarray) else [_vector(cell, length) for cell in column]
    try:
        floats = np.array(cells, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    fits = floats.shape == (len(column), length)
    return floats if fits and np.isfinite(floats[~is_missing(column)]).all() else None


def length_of(cell: Any) -> int:
    """Return how many numbers a cell holds if it is a list, or one as text; 0 if not."""
    cell = unpacked(cell)
    return len(cell) if isinstance(cell, list | np.ndarray) else 0


def unpacked(cell: Any) -> Any:
    """Return the list that is written in a text cell, and any other cell as it is."""
    try:
        return json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        return cell


def first_bad(column: Column, read: Callable[[Column], Floats | None]) -> int:
    """Return the place of the first cell that cannot be read, in a column that cannot."""
    return next(place for place in range(len(column)) if read(column[place : place + 1]) is None)


def _from_array(column: Any) -> Floats | None:
    return column.astype(np.float64) if is_numeric(column) else None


def _from_list(column: list[Any]) -> Floats | None:
    types = set(map(type, column))
    if not types <= _SCALARS:
        return None
    cells = [math.nan if cell is None else cell for cell in column] if type(None) in types else column
    # float() reads 2021_03 as a number.
    texts = column if types == {str} else [cell for cell in column if type(cell) is str]
    if "_" in "".join(texts):
        return None
    try:
        floats = np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    # Other spellings of NaN, such as Nan, are no numbers.
    return floats if np.isnan(floats).sum() == column.count(None) else None


def _vector(cell: Any, length: int) -> Any:
    return [math.nan] * length if cell is None else unpacked(cell)
