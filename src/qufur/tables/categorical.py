"""Categorical columns: one-hot encoding, and hashing for many categories."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats
from qufur.tables.batch import CORRECT, FILL, Batch
from qufur.tables.cells import category, first_other, listed
from qufur.tables.columns import Kind

BUCKETS = 32
"""Default number of columns that hashed categories share."""


class OneHot(Kind):
    """Base of categorical columns: at most one of their columns of x is 1."""

    blanks: bool

    @abstractmethod
    def indices(self, categories: set[str]) -> dict[str, int]:
        """Return the column of x that is 1 for each category; a category without one is omitted."""

    @property
    def indicators(self) -> list[str]:
        return ["missing"] if self.blanks else []

    def encode(self, batch: Batch, impute: bool) -> Floats:
        column = batch.cells(self.name, impute)
        invalid = first_other(column)
        if invalid is not None:
            raise batch.cell_error(self.name, invalid, "text or numbers", CORRECT)
        cells = listed(column)
        if None in cells and not impute:
            raise batch.cell_error(self.name, cells.index(None), "a category in every row", FILL)
        categories = {cell: category(cell) for cell in set(cells) if cell is not None}
        indices, width = self.indices(set(categories.values())), len(self.names)
        codes = {cell: indices.get(name, width) for cell, name in categories.items()}
        codes[None] = width - 1 if self.blanks else width
        return np.eye(width + 1)[:, :width][[codes[cell] for cell in cells]]


@dataclass(frozen=True)
class Categorical(OneHot):
    """One-hot encoding; a category that is not in `categories` becomes all zeros.

    Parameters
    ----------
    categories
        Categories of one table, sorted; those of later tables have a separate entry. None replaces an erased
        category, whose column of x remains and is always 0.
    blanks
        Whether missing cells are a separate category.
    """

    categories: tuple[str | None, ...]
    blanks: bool = False
    kind: ClassVar[str] = "categorical"

    @property
    def value_names(self) -> list[str]:
        return [
            f"{self.name} (erased)" if category is None else f"{self.name}={category}"
            for category in self.categories
        ]

    def indices(self, categories: set[str]) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.categories) if name is not None}

    def only(self, used: Sequence[bool]) -> Categorical:
        """Return the entry with unused categories erased; their columns of x remain."""
        pairs = zip(self.categories, used, strict=True)
        return replace(self, categories=tuple(name if is_used else None for name, is_used in pairs))


@dataclass(frozen=True)
class Hashed(OneHot):
    """Feature hashing: the hash of a category selects the column of x that is 1, also for new categories.

    Parameters
    ----------
    buckets
        Number of columns of x that the categories share.
    blanks
        Whether missing cells have a separate column.

    Examples
    --------
    >>> Hashed("city", 3).encode(Batch({"city": ["Oslo", "Lima", "Oslo"]}), impute=False)
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    """

    buckets: int = BUCKETS
    blanks: bool = False
    kind: ClassVar[str] = "hashed"

    @property
    def value_names(self) -> list[str]:
        return [f"{self.name}#{bucket}" for bucket in range(self.buckets)]

    @property
    def note(self) -> str:
        shared = f"their hashes share {self.buckets} columns"
        remedy = f"For ids `skip={[self.name]}`, for free text `text={self.name!r}`"
        return f"Column {self.name!r} has many categories: {shared}. {remedy}."

    def indices(self, categories: set[str]) -> dict[str, int]:
        return {name: zlib.crc32(name.encode("utf-8", "surrogatepass")) % self.buckets for name in categories}
