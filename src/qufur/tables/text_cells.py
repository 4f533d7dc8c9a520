"""Rows of text, which are made into columns as these are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter

import numpy as np

from qufur.arrays import Floats
from qufur.tables.batch import Column
from qufur.tables.cells import clean_texts


class TextColumns(Mapping[str, Column]):
    """The columns of some rows of text.

    Parameters
    ----------
    rows
        All of one width.
    names
        Of their columns, in order.
    """

    def __init__(self, rows: list[tuple[str, ...]], names: list[str]) -> None:
        self._rows, self._names = rows, names
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._made:
            place = itemgetter(self._places[name])
            self._made[name] = clean_texts(map(place, self._rows))
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places  # without making the column

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))

    def floats(self, names: Sequence[str]) -> Floats | None:
        """Return columns as (n, d), all at once; None if one of the cells is no number."""
        rows = self._rows
        if list(names) != self._names:
            rows = list(map(cells_at([self._places[name] for name in names]), rows))
        # NumPy reads 2021_03 as a number.
        if any("_" in row for row in map("".join, rows)):
            return None
        try:
            return np.array(rows, np.float64)
        except ValueError:
            return None

    def at(self, places: Sequence[int]) -> TextColumns:
        """Return some of the rows, without making columns of the others."""
        return TextColumns([self._rows[place] for place in places], self._names)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._names)}


def cells_at(places: list[int]) -> Callable[[Sequence[str]], tuple[str, ...]]:
    """Return a function that takes some cells of a row.

    >>> cells_at([1])("abc"), cells_at([2, 0])("abc")
    (('b',), ('c', 'a'))
    """
    # itemgetter of one place returns a bare cell.
    return itemgetter(*places) if len(places) > 1 else lambda row: (row[places[0]],)
