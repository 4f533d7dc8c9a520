"""Why a row was chosen, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.labelling.pool import Choice

MOST_COLUMNS = 3
HALF = 0.5
"""Columns are named until they make up this much of the squared difference."""
LONGEST = 20
"""Characters of a cell that is shown."""

Row = Mapping[str, Any]


def reasons(choice: Choice, columns: Sequence[str], ids: Sequence[Any], rows: Sequence[Row]) -> list[str]:
    """Return a sentence for every chosen row.

    Parameters
    ----------
    choice
        The rows.
    columns
        For every input, the column of the table that it comes from.
    ids, rows
        What the chosen rows are called, and their cells by column.
    """
    return [_reason(choice, place, columns, ids, rows) for place in range(len(rows))]


def _reason(
    choice: Choice, place: int, columns: Sequence[str], ids: Sequence[Any], rows: Sequence[Row]
) -> str:
    if place + 1 >= len(choice.uncertainty):
        return "drawn at random, as are all beyond the first"
    like = int(choice.like[place])
    named = most_different(choice.difference[place], columns)
    if like < 0:
        start = choice.uncertainty[0]
        what = "typical of many rows" if start == 1 else f"unlike the labelled rows in {_listed(named)}"
    else:
        parts = [_difference(name, rows[place].get(name), rows[like].get(name)) for name in named]
        what = f"unlike {ids[like]} in {_listed(parts)}" if parts else f"once more what {ids[like]} is"
    share, left = choice.share[place], choice.uncertainty[place + 1]
    return f"{what}; {share:.1%} of rows are most like it; leaves {left:.1%} of the uncertainty"


def most_different(difference: Floats, columns: Sequence[str]) -> list[str]:
    """Return the columns in which two rows differ most, at most three.

    >>> most_different(np.array([0.1, 0.7, 0.7, 0.5]), ["wind", "season", "season", "rain"])
    ['season']
    """
    squares: dict[str, float] = {}
    for name, square in zip(columns, (difference**2).tolist(), strict=True):
        squares[name] = squares.get(name, 0.0) + square
    total, found, named = sum(squares.values()), 0.0, []
    for name in sorted(squares, key=lambda name: -squares[name])[:MOST_COLUMNS]:
        if found < HALF * total:
            named.append(name)
            found += squares[name]
    return named


def _difference(name: str, cell: Any, other: Any) -> str:
    if any(isinstance(value, list | np.ndarray) or len(_shown(value)) > LONGEST for value in (cell, other)):
        return name
    return f"{name} ({_shown(cell)}, not {_shown(other)})"


def _shown(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return "nothing" if cell is None else str(cell)


def _listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them.

    >>> _listed(["wind", "rain", "hour"])
    'wind, rain and hour'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
