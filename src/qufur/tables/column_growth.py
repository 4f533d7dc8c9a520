"""What a later table adds to one of the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.tables.amounts import Amount, amounts
from qufur.tables.batch import Batch, Column
from qufur.tables.categories import Categorical
from qufur.tables.cells import category, first_other, is_missing, listed, numbers_or_nan, vectors
from qufur.tables.columns import Kind, Missing, Numeric, Part
from qufur.tables.moments import Moments
from qufur.tables.survey import MOST_CATEGORIES

FINER = 30.0
"""A scaled column that began far from where it varies is scaled again if it varies by so much less."""


class ColumnGrowth:
    """One pass of a later table over a column that is an input.

    Parameters
    ----------
    entries
        Those of the column so far.
    impute
        Whether cells may be missing; what may not be is refused by the encoding, and is not looked at here.

    Attributes
    ----------
    lacking
        Whether the table does not have the column.
    """

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        self.name, self.lacking = entries[0].name, False
        self._entries, self._impute, self._missing = entries, impute, False

    def add(self, batch: Batch) -> None:
        """Look at the cells of a batch."""
        self.lacking = not batch.has(self.name)
        self._look(batch, batch.cells(self.name, self._impute))

    @property
    def needs_no_look(self) -> bool:
        """Whether cells that the encoding takes, whatever they are, add nothing."""
        return not self._impute

    @property
    def first_missing(self) -> bool:
        """Whether cells are missing that no indicator tells of."""
        told = any(entry.tells_missing for entry in self._entries)
        return self._missing and self._impute and not told

    @property
    def finer(self) -> list[Numeric]:
        """The entries without which the column would say nothing."""
        return []

    @property
    def new(self) -> list[Kind]:
        """The entries to be added."""
        numeric = isinstance(self, NumberGrowth)
        return [*([Missing(self.name, numeric)] if self.first_missing else []), *self.finer]

    def _look(self, batch: Batch, column: Column) -> None:
        self._missing |= bool(is_missing(column).any())


class NumberGrowth(ColumnGrowth):
    """One pass over a column of numbers.

    A scaled column that was the same in all rows begins to vary: rows before have 0, so it is scaled by how
    far it is from what it was. If it varies much less than that, it is scaled by its own moments as well.

    Attributes
    ----------
    odd
        Row and cell of the first that is no number, and how many there are; they count as missing.
    """

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        super().__init__(entries, impute)
        self._first, *self._others = (entry for entry in entries if isinstance(entry, Numeric))
        self._moments = Moments()
        self.odd: tuple[int, Any, int] | None = None

    @property
    def needs_no_look(self) -> bool:
        return super().needs_no_look and not _was_constant(self._first)

    def add_numbers(self, values: Floats) -> None:
        """Take in the numbers of a batch, (n, 1), that has nothing else in this column."""
        self._moments.add(values)

    @property
    def finer(self) -> list[Numeric]:
        return _finer(self._first, self._others, self._moments)

    def _look(self, batch: Batch, column: Column) -> None:
        values = numbers_or_nan(column)
        unknown = np.isnan(values[:, 0])
        self._missing |= bool(unknown.any())
        odd = np.flatnonzero(unknown & ~is_missing(column))
        if len(odd):
            row, cell, count = self.odd or (batch.row(int(odd[0])), column[odd[0]], 0)
            self.odd = row, cell, count + len(odd)
        self._moments.add(values[np.abs(values[:, 0]) < LARGEST])


class AmountGrowth(ColumnGrowth):
    """One pass over a column of amounts, which may begin to vary as numbers do."""

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        super().__init__(entries, impute)
        self._first, *self._others = (entry for entry in entries if isinstance(entry, Amount))
        self._moments = Moments()

    @property
    def needs_no_look(self) -> bool:
        return super().needs_no_look and not _was_constant(self._first)

    @property
    def finer(self) -> list[Numeric]:
        return _finer(self._first, self._others, self._moments)

    def _look(self, batch: Batch, column: Column) -> None:
        super()._look(batch, column)
        values = amounts(column, self._first.unit) if _was_constant(self._first) else None
        if values is not None:
            self._moments.add(values[np.abs(values[:, 0]) < LARGEST])


class ListGrowth(ColumnGrowth):
    """One pass over a column of lists of numbers; those that were the same in all rows may begin to vary."""

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        super().__init__(entries, impute)
        self._first, *others = (entry for entry in entries if isinstance(entry, Numeric))
        alive = {place for other in others if isinstance(other, Part) for place in other.places}
        constant = np.flatnonzero(np.array(self._first.deviation) == 0) if self._first.scaled else ()
        self._places = [int(place) for place in constant if place not in alive]
        self._moments = Moments()

    @property
    def needs_no_look(self) -> bool:
        return super().needs_no_look and not self._places

    @property
    def finer(self) -> list[Numeric]:
        """The entry without which some of the numbers would say nothing."""
        if not self._moments.count:
            return []
        mean = np.array(self._first.mean)[self._places]
        scale = np.hypot(self._moments.std, self._moments.mean - mean)
        there = np.flatnonzero(scale)
        places = tuple(self._places[j] for j in there)
        found = tuple(mean[there].tolist()), tuple(scale[there].tolist())
        length = len(self._first.mean)
        return [Part(self.name, *found, vector=True, places=places, length=length)] if places else []

    def _look(self, batch: Batch, column: Column) -> None:
        super()._look(batch, column)
        values = vectors(column, len(self._first.mean)) if self._places else None
        if values is not None:
            known = values[:, self._places]
            self._moments.add(known[(np.abs(known) < LARGEST).all(axis=1)])


class CategoryGrowth(ColumnGrowth):
    """One pass over a column of categories, which gets new ones in the order in which they come.

    Attributes
    ----------
    categories
        Those that are new.
    too_many
        Whether there are more than can be taken.
    """

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        super().__init__(entries, impute)
        own = [name for entry in entries if isinstance(entry, Categorical) for name in entry.categories]
        # Erased categories keep their column of x, so they count towards the limit.
        self._known, self._room = set(own), MOST_CATEGORIES - len(own)
        self.categories: set[str] = set()
        self.too_many = False

    @property
    def needs_no_look(self) -> bool:
        return False

    @property
    def new(self) -> list[Kind]:
        own = [Categorical(self.name, tuple(sorted(self.categories)))] if self.categories else []
        return [*super().new, *own]

    def _look(self, batch: Batch, column: Column) -> None:
        super()._look(batch, column)
        if first_other(column) is not None:
            return
        for cell in dict.fromkeys(listed(column)):
            name = None if cell is None else category(cell)
            if name is None or name in self._known or name in self.categories:
                continue
            if len(self.categories) < self._room:
                self.categories.add(name)
            else:
                self.too_many = True


def _was_constant(first: Numeric) -> bool:
    return first.scaled and not first.deviation[0]


def _finer(first: Numeric, others: Sequence[Numeric], moments: Moments) -> list[Numeric]:
    """Return the entries without which a column that was the same in all rows would say nothing."""
    if not (_was_constant(first) and moments.count):
        return []
    found: list[Numeric] = []
    own = replace(first, blanks=False, added=False)
    mean, deviation = moments.mean.item(), moments.std.item()
    scale = min((other.deviation[0] for other in others), default=0.0)
    if not scale:
        scale = math.hypot(deviation, mean - first.mean[0])
        found = [replace(own, deviation=(scale,))] if scale else []
    if 0 < FINER * deviation < scale:
        found.append(replace(own, mean=(mean,), deviation=(deviation,)))
    return found


def growth_of(entries: Sequence[Kind], impute: bool) -> ColumnGrowth:
    """Return the pass over the column that some entries are of."""
    first = entries[0]
    if isinstance(first, Categorical):
        return CategoryGrowth(entries, impute)
    if isinstance(first, Numeric) and first.is_single:
        return NumberGrowth(entries, impute)
    if isinstance(first, Amount):
        return AmountGrowth(entries, impute)
    # The vectors of a language model vary, and take long.
    return ListGrowth(entries, impute) if type(first) is Numeric else ColumnGrowth(entries, impute)
