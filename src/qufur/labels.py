"""The labels that came, with what is needed to replace them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.errors import invalid
from qufur.models.base import Id

AT_ONCE = 500
"""Rows that are read at once from elsewhere."""

ReadRows = Callable[[Sequence[Id]], Floats]


class Record(NamedTuple):
    """A label that came, and what is needed to replace it.

    Attributes
    ----------
    label, prediction, probability, largest_loss
        In the user's units, classes by their numbers; the others are those of the decision, or NaN if the
        label was free.
    row
        The input as the model takes it.
    """

    label: float
    prediction: float
    probability: float
    largest_loss: float
    row: Floats


class Labels(Mapping[Id, Record]):
    """Labels by id, in the order in which they came: columns of numbers, and one matrix of rows.

    A label takes about 200 bytes, and 8 for each number of its row. Rows may be kept elsewhere, but for the
    first of them: they are needed where labels are replaced or taken back, and not to learn.

    Parameters
    ----------
    ids
        Of the labels.
    numbers
        The first four numbers of each record.
    rows
        Those of the first labels; of all, unless the others are elsewhere.

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
        self._places = {id: place for place, id in enumerate(ids)}
        self._numbers = np.empty((0, 4)) if numbers is None else numbers
        self._rows = np.empty((0, 0)) if rows is None else rows
        self._held = len(self._rows)
        self._room: float = math.inf
        self._read: ReadRows = _nowhere
        if self._numbers.shape != (len(self), 4) or not self._held <= len(self) == len(ids):
            raise invalid("numbers and rows", "Labels", "those of distinct ids", "others")

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Id]:
        return iter(self._places)

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def __getitem__(self, id: Id) -> Record:
        place = self._places[id]
        row = self._rows[place] if place < self._held else self._read([id])[0]
        label, prediction, probability, largest_loss = self._numbers[place].tolist()
        return Record(label, prediction, probability, largest_loss, row)

    def label(self, id: Id) -> float | None:
        """Return the label of a row, if it has one."""
        place = self._places.get(id)
        return None if place is None else float(self._numbers[place, 0])

    @property
    def numbers(self) -> Floats:
        """The first four numbers of all records; they are not to be written to."""
        return self._numbers[: len(self)]

    @property
    def held(self) -> Floats:
        """The rows that are here, which are those of the first labels."""
        return self._rows[: self._held]

    @property
    def rows(self) -> Floats:
        """The rows of all labels, O(labels) where some are read from elsewhere."""
        return np.concatenate(list(self.blocks())) if self._held < len(self) else self.held

    def blocks(self) -> Iterator[Floats]:
        """Yield the rows of all labels, those from elsewhere some at a time."""
        if self._held or not len(self):
            yield self.held
        ids = list(self)
        for start in range(self._held, len(self), AT_ONCE):
            yield self._read(ids[start : start + AT_ONCE])

    def keep_elsewhere(self, read: ReadRows, room: int) -> None:
        """Hold no more than so many bytes of rows from now on; `read` returns others by their ids."""
        self._read, self._room = read, room
        if self._rows.nbytes > room:
            self._held = min(self._held, room // (8 * self._rows.shape[1]))
            self._rows = self.held.copy()

    def add(self, ids: Sequence[Id], numbers: Floats, rows: Floats) -> None:
        """Take in labels that are new."""
        first, last = len(self), len(self) + len(ids)
        self._numbers = _with_room(self._numbers, first, numbers)
        self._numbers[first:last] = numbers
        if self._held == first and 8 * last * rows.shape[1] <= self._room:
            self._rows = _with_room(self._rows, first, rows)
            self._rows[first:last] = rows
            self._held = last
        self._places.update(zip(ids, range(first, last), strict=True))

    def places(self, ids: Sequence[Id]) -> Ints:
        """Return where labels are in the order in which they came."""
        return np.array([self._places[id] for id in ids], dtype=np.int64)

    def replace(self, labels: Floats) -> None:
        """Let the same rows have had other labels."""
        self._numbers[: len(self), 0] = labels

    def remove(self, ids: Sequence[Id]) -> None:
        """Forget labels."""
        places = self.places(ids)
        held = self._held - int(np.count_nonzero(places < self._held))
        self._rows = np.delete(self.held, places[places < self._held], axis=0)
        self._numbers = np.delete(self.numbers, places, axis=0)
        gone = set(ids)
        self._places = {id: place for place, id in enumerate(id for id in self if id not in gone)}
        self._held = held

    def widen(self, place: int, constants: Sequence[float]) -> None:
        """Let rows have further columns before the one at a place; rows from elsewhere have them as read."""
        held = self.held
        self._rows = np.insert(held, [place] * len(constants), constants, axis=1) if len(held) else held


def _nowhere(ids: Sequence[Id]) -> Floats:
    raise KeyError(f"no row of {ids[0]!r}")


def _with_room(array: Floats, count: int, more: Floats) -> Floats:
    """Return an array with room for more rows; doubling, so that rows are copied once on average."""
    if count + len(more) <= len(array):
        return array
    grown = np.empty((max(16, 2 * count, count + len(more)), *more.shape[1:]))
    grown[:count] = array[:count].reshape(count, *more.shape[1:])
    return grown
