"""Received labels, with the data needed to replace them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.errors import invalid
from qufur.ids import Id

READ_ROWS = 500
"""Offloaded rows read in one batch."""

ReadRows = Callable[[Sequence[Id]], Floats]


class StoredLabel(NamedTuple):
    """A received label, with the data needed to replace it.

    Attributes
    ----------
    label, prediction, probability, largest_loss
        The label in its own units, or the index of its class, and the numbers of its query decision, which
        are NaN for a free label.
    row
        The encoded input.
    """

    label: float
    prediction: float
    probability: float
    largest_loss: float
    row: Floats


class Labels(Mapping[Id, StoredLabel]):
    """Labels by id, in order of arrival: columns of numbers, and one matrix of rows.

    A label takes about 200 bytes, plus 8 for each number of its row. Rows after the first ones may be
    offloaded: they are needed to replace or remove labels, not to learn.

    Parameters
    ----------
    ids
        Ids of the labels.
    numbers
        Label, prediction, probability and largest loss of each label.
    rows
        Rows of the first labels; of all labels unless the others are offloaded.

    Examples
    --------
    >>> labels = Labels()
    >>> labels.add(["LH1", 7], np.zeros((2, 4)), np.eye(2))
    >>> len(labels), labels[7].row, labels.label("LH1"), labels.label("LH2")
    (2, array([0., 1.]), 0.0, None)
    """

    def __init__(
        self, ids: Sequence[Id] = (), numbers: Floats | None = None, rows: Floats | None = None
    ) -> None:
        self._index = {id: index for index, id in enumerate(ids)}
        self._numbers = np.empty((0, 4)) if numbers is None else numbers
        self._rows = np.empty((0, 0)) if rows is None else rows
        self._held = len(self._rows)
        self._room: float = math.inf
        self._read: ReadRows = _read_nothing
        if self._numbers.shape != (len(self), 4) or not self._held <= len(self) == len(ids):
            raise invalid("numbers and rows", "Labels", "as long as the distinct ids", "other lengths")

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[Id]:
        return iter(self._index)

    def __contains__(self, id: object) -> bool:
        return id in self._index

    def __getitem__(self, id: Id) -> StoredLabel:
        index = self._index[id]
        row = self._rows[index] if index < self._held else self._read([id])[0]
        label, prediction, probability, largest_loss = self._numbers[index].tolist()
        return StoredLabel(label, prediction, probability, largest_loss, row)

    def label(self, id: Id) -> float | None:
        """Return the label of a row; None without one."""
        index = self._index.get(id)
        return None if index is None else float(self._numbers[index, 0])

    @property
    def numbers(self) -> Floats:
        """Label, prediction, probability and largest loss of all labels; read-only."""
        return self._numbers[: len(self)]

    @property
    def cached_rows(self) -> Floats:
        """The rows in memory, which belong to the first labels."""
        return self._rows[: self._held]

    @property
    def rows(self) -> Floats:
        """The rows of all labels, O(labels) if some are offloaded."""
        return np.concatenate(list(self.blocks())) if self._held < len(self) else self.cached_rows

    def blocks(self) -> Iterator[Floats]:
        """Yield the rows of all labels, reading offloaded rows in batches."""
        if self._held or not len(self):
            yield self.cached_rows
        ids = list(self)
        for start in range(self._held, len(self), READ_ROWS):
            yield self._read(ids[start : start + READ_ROWS])

    def offload_rows(self, read: ReadRows, room: int) -> None:
        """Limit the rows in memory to `room` bytes; `read` returns the other rows by their ids."""
        self._read, self._room = read, room
        if self._rows.nbytes > room:
            self._held = min(self._held, room // (8 * self._rows.shape[1]))
            self._rows = self.cached_rows.copy()

    def add(self, ids: Sequence[Id], numbers: Floats, rows: Floats) -> None:
        """Add new labels, with arrays as for the constructor; rows beyond the memory limit are not cached."""
        first, last = len(self), len(self) + len(ids)
        self._numbers = _with_room(self._numbers, first, numbers)
        self._numbers[first:last] = numbers
        if self._held == first and 8 * last * rows.shape[1] <= self._room:
            self._rows = _with_room(self._rows, first, rows)
            self._rows[first:last] = rows
            self._held = last
        self._index.update(zip(ids, range(first, last), strict=True))

    def positions(self, ids: Sequence[Id]) -> Ints:
        """Return the positions of labels in order of arrival."""
        return np.array([self._index[id] for id in ids], dtype=np.int64)

    def replace(self, labels: Floats) -> None:
        """Replace the labels of all rows."""
        self._numbers[: len(self), 0] = labels

    def remove(self, ids: Sequence[Id]) -> None:
        """Remove labels."""
        positions = self.positions(ids)
        held = self._held - int(np.count_nonzero(positions < self._held))
        self._rows = np.delete(self.cached_rows, positions[positions < self._held], axis=0)
        self._numbers = np.delete(self.numbers, positions, axis=0)
        removed = set(ids)
        self._index = {id: index for index, id in enumerate(id for id in self if id not in removed)}
        self._held = held

    def widen(self, place: int, constants: Sequence[float]) -> None:
        """Insert constant columns before the column at `place` of the rows in memory.

        The function passed to `offload_rows` must return the other rows with these columns.
        """
        held = self.cached_rows
        self._rows = np.insert(held, [place] * len(constants), constants, axis=1) if len(held) else held


def _read_nothing(ids: Sequence[Id]) -> Floats:
    raise KeyError(f"no row of {ids[0]!r}")


def _with_room(array: Floats, count: int, more: Floats) -> Floats:
    """Return an array with room for more rows; doubling makes appending amortised O(1)."""
    if count + len(more) <= len(array):
        return array
    grown = np.empty((max(16, 2 * count, count + len(more)), *more.shape[1:]))
    grown[:count] = array[:count].reshape(count, *more.shape[1:])
    return grown
