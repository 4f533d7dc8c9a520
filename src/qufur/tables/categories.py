"""Columns of categories: one-hot, or more of them than one-hot columns are worth."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats
from qufur.tables.batch import CORRECT, FILL, Batch
from qufur.tables.cells import category, first_other, listed

BUCKETS = 32


class OneHot(ABC):
    """A category per cell, of which at most one column of x is 1."""

    name: str
    blanks: bool

    @property
    @abstractmethod
    def own_names(self) -> list[str]:
        """One per column of x that is not for missing cells."""

    @abstractmethod
    def places(self, categories: set[str]) -> dict[str, int]:
        """Return which column of x is 1 for some categories; those that are left out have none."""

    @property
    def names(self) -> list[str]:
        """One per column of x."""
        return [*self.own_names, *[f"{self.name} missing"] * self.blanks]

    @property
    def before(self) -> list[float]:
        """What the columns of x were for rows that came before this entry."""
        return [0.0] * len(self.names)

    @property
    def tells_missing(self) -> bool:
        """Whether an indicator says where cells are missing."""
        return self.blanks

    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the columns of x."""
        column = batch.cells(self.name, impute)
        other = first_other(column)
        if other is not None:
            raise batch.refuse(self.name, other, "text or numbers", CORRECT)
        cells = listed(column)
        if None in cells and not impute:
            raise batch.refuse(self.name, cells.index(None), "a category in every row", FILL)
        called = {cell: category(cell) for cell in set(cells) if cell is not None}
        place, width = self.places(set(called.values())), len(self.names)
        codes = {cell: place.get(name, width) for cell, name in called.items()}
        codes[None] = width - 1 if self.blanks else width
        return np.eye(width + 1)[:, :width][[codes[cell] for cell in cells]]


@dataclass(frozen=True)
class Categorical(OneHot):
    """Some categories, each with a column of x; one that is not among them is all zeros.

    Parameters
    ----------
    name
        Of the column.
    categories
        Those of one table, sorted; later ones have an entry of their own. None stands for one that was
        erased: it keeps its column of x, in which no cell is 1.
    blanks
        Whether missing cells are a category of their own.
    """

    name: str
    categories: tuple[str | None, ...]
    blanks: bool = False
    kind: ClassVar[str] = "categorical"
    note: ClassVar[str] = ""

    @property
    def own_names(self) -> list[str]:
        return [
            f"{self.name} (erased)" if category is None else f"{self.name}={category}"
            for category in self.categories
        ]

    def places(self, categories: set[str]) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.categories) if name is not None}

    def only(self, used: Sequence[bool]) -> Categorical:
        """Return the entry without the categories that are not used; each leaves its column of x."""
        kept = zip(self.categories, used, strict=True)
        return replace(self, categories=tuple(category if there else None for category, there in kept))


@dataclass(frozen=True)
class Hashed(OneHot):
    """A category per cell, of many: its hash says which of some columns is 1, so that new ones count too.

    Parameters
    ----------
    name
        Of the column.
    buckets
        How many columns categories share.
    blanks
        Whether missing cells have a column of their own.

    Examples
    --------
    >>> Hashed("city", 3).encode(Batch({"city": ["Oslo", "Lima", "Oslo"]}), impute=False)
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    """

    name: str
    buckets: int = BUCKETS
    blanks: bool = False
    kind: ClassVar[str] = "hashed"

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name}#{bucket}" for bucket in range(self.buckets)]

    @property
    def note(self) -> str:
        """What to say of it."""
        shared = f"their hashes share {self.buckets} columns"
        remedy = f"For ids --skip {self.name}, for free text --text {self.name}"
        return f"Column {self.name!r} has many categories: {shared}. {remedy}."

    def places(self, categories: set[str]) -> dict[str, int]:
        return {name: zlib.crc32(name.encode("utf-8", "surrogatepass")) % self.buckets for name in categories}
