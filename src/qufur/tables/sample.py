"""Some rows of a table that goes by once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qufur.arrays import Bools
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import listed
from qufur.tables.text_cells import TextColumns


class Sample:
    """Rows drawn from a table as it goes by, each as likely as any other, in the order of the table.

    Every row gets a number between 0 and 1, and those of the least numbers are kept: which these are does not
    depend on how the table is cut into batches. At most twice as many rows are in memory.

    Parameters
    ----------
    size
        How many rows; all of them if the table has no more.
    seed
        Of the numbers.

    Examples
    --------
    >>> sample = Sample(2, seed=0)
    >>> batch = Batch({"wind": ["1", "2", "3"]})
    >>> sample.add(batch, [11, 12, 13], np.array([True, False, True]))
    >>> sample.count, sample.ids, sample.batch().columns
    (2, [11, 13], {'wind': ['1', '3']})
    """

    def __init__(self, size: int, seed: int | Sequence[int] = 0) -> None:
        self._size, self._rng = size, np.random.default_rng(seed)
        self._rows: list[tuple[float, Any, list[Any]]] = []
        self._below = 1.0
        self._like = Batch({})
        self.count = 0

    def add(self, batch: Batch, ids: Sequence[Any], wanted: Bools) -> None:
        """Take in some rows of a batch, whose rows are called so."""
        keys = self._rng.random(len(batch))
        self.count += int(np.count_nonzero(wanted))
        places = np.flatnonzero(wanted & (keys < self._below)).tolist()
        if places:
            self._like = batch
            cells = zip(*_columns(batch, places), strict=True)
            self._rows += [
                (keys[place], ids[place], list(row)) for place, row in zip(places, cells, strict=True)
            ]
        if len(self._rows) >= 2 * self._size:
            self._shrink()

    @property
    def ids(self) -> list[Any]:
        """What the rows are called."""
        self._shrink()
        return [id for _, id, _ in self._rows]

    def batch(self) -> Batch:
        """Return the rows, at least one; their numbers in the table are lost."""
        self._shrink()
        columns = zip(*(cells for *_, cells in self._rows), strict=True)
        named = dict(zip(self._like.columns, map(list, columns), strict=True))
        return Batch(named, file=self._like.file, numbers=self._like.numbers)

    def _shrink(self) -> None:
        if len(self._rows) > self._size:
            self._below = sorted(key for key, *_ in self._rows)[self._size]
            self._rows = [row for row in self._rows if row[0] < self._below]


def _columns(batch: Batch, places: list[int]) -> list[list[Any]]:
    """Return some cells of every column, as a list that was read has them."""
    columns = batch.columns
    if isinstance(columns, TextColumns):
        return [listed(column) for column in columns.at(places).values()]
    return [_cells(column, places) for column in columns.values()]


def _cells(column: Column, places: list[int]) -> list[Any]:
    if not isinstance(column, np.ndarray):
        return [column[place] for place in places]
    found = column[places]
    return found.tolist() if found.ndim > 1 else listed(found)
