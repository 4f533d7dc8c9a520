"""Uniform random sample of the rows of a table, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qufur.arrays import Bools
from qufur.tables.batch import Batch
from qufur.tables.cells import TextColumns, listed


class Sample:
    """Uniform random sample of the rows of a table, without replacement, in the order of the table.

    Every row gets a uniform random key, and the rows with the smallest keys form the sample. It therefore
    does not depend on the batch size. At most 2 · size rows and one batch are in memory.

    Parameters
    ----------
    size
        Number of rows in the sample; a smaller table is sampled completely.
    seed
        Seed of the keys.

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
        self._max_key = 1.0
        self._like = Batch({})
        self.count = 0

    def add(self, batch: Batch, ids: Sequence[Any], eligible: Bools) -> None:
        """Add the eligible rows of a batch; `ids` has an id for every row of it."""
        keys = self._rng.random(len(batch))
        self.count += int(np.count_nonzero(eligible))
        indices = np.flatnonzero(eligible & (keys < self._max_key)).tolist()
        if indices:
            self._like = batch
            rows = zip(*_columns(batch, indices), strict=True)
            self._rows += [(keys[i], ids[i], list(row)) for i, row in zip(indices, rows, strict=True)]
        if len(self._rows) >= 2 * self._size:
            self._shrink()

    @property
    def ids(self) -> list[Any]:
        """Ids of the sampled rows."""
        self._shrink()
        return [id for _, id, _ in self._rows]

    def batch(self) -> Batch:
        """Return the sampled rows, at least one, as a batch with new row numbers."""
        self._shrink()
        columns = zip(*(cells for *_, cells in self._rows), strict=True)
        named = dict(zip(self._like.columns, map(list, columns), strict=True))
        return Batch(named, file=self._like.file, numbers=self._like.numbers)

    def _shrink(self) -> None:
        if len(self._rows) > self._size:
            self._max_key = sorted(key for key, *_ in self._rows)[self._size]
            self._rows = [row for row in self._rows if row[0] < self._max_key]


def _columns(batch: Batch, indices: list[int]) -> list[list[Any]]:
    """Return the cells of the given rows, one list per column."""
    columns = batch.columns
    if isinstance(columns, TextColumns):  # without parsing the other rows
        return [listed(column) for column in columns.at(indices).values()]
    return [
        listed(column[indices] if isinstance(column, np.ndarray) else [column[i] for i in indices])
        for column in columns.values()
    ]
