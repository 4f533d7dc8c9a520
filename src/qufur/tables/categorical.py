"""Columns of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.tables.batch import FILL, Batch
from qufur.tables.cells import category, first_other, listed


@dataclass(frozen=True)
class Categorical:
    """A category per cell, one-hot; one that the first table did not have is all zeros.

    Parameters
    ----------
    name
        Of the column.
    categories
        Of the first table, sorted.
    blanks
        Whether missing cells are a category of their own.
    """

    name: str
    categories: tuple[str, ...]
    blanks: bool = False
    kind: ClassVar[str] = "categorical"

    @property
    def names(self) -> list[str]:
        """One per column of x."""
        own = [f"{self.name}={category}" for category in self.categories]
        return [*own, f"{self.name} missing"] if self.blanks else own

    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the columns of x."""
        codes = self._codes(batch, impute)
        onehot = np.zeros((len(codes), len(self.categories) + self.blanks))
        known = np.flatnonzero(codes >= 0)
        onehot[known, codes[known]] = 1.0
        return onehot

    def new(self, batch: Batch) -> set[str]:
        """Return the categories that the first table did not have; the batch is known to be in order."""
        cells = set(listed(batch.column(self.name))) - {None}
        return {category(cell) for cell in cells} - set(self.categories)

    def _codes(self, batch: Batch, impute: bool) -> Ints:
        column = batch.column(self.name)
        other = first_other(column)
        if other is not None:
            raise batch.refuse(self.name, other, "text or numbers", "Correct the cell or drop the row.")
        cells = listed(column)
        if None in cells and not impute:
            raise batch.refuse(self.name, cells.index(None), "a category in every row", FILL)
        place = {name: code for code, name in enumerate(self.categories)}
        missing = len(self.categories) if self.blanks else -1
        codes = {cell: missing if cell is None else place.get(category(cell), -1) for cell in set(cells)}
        return np.fromiter(map(codes.__getitem__, cells), np.int64, len(cells))
