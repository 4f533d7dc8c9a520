"""Columns of more categories than one-hot columns are worth."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats
from qufur.tables.batch import FILL, Batch
from qufur.tables.cells import category, first_other, listed

BUCKETS = 32


@dataclass(frozen=True)
class Hashed:
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
    def names(self) -> list[str]:
        """One per column of x."""
        own = [f"{self.name}#{bucket}" for bucket in range(self.buckets)]
        return [*own, f"{self.name} missing"] if self.blanks else own

    @property
    def before(self) -> list[float]:
        """What the columns of x were for rows that came before this entry."""
        return [0.0] * len(self.names)

    @property
    def tells_missing(self) -> bool:
        """Whether an indicator says where cells are missing."""
        return self.blanks

    @property
    def note(self) -> str:
        """What to say of it."""
        shared = f"their hashes share {self.buckets} columns"
        remedy = f"For ids --skip {self.name}, for free text --text {self.name}"
        return f"Column {self.name!r} has many categories: {shared}. {remedy}."

    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the columns of x."""
        column = batch.cells(self.name, impute)
        other = first_other(column)
        if other is not None:
            raise batch.refuse(self.name, other, "text or numbers", "Correct the cell or drop the row.")
        cells = listed(column)
        if None in cells and not impute:
            raise batch.refuse(self.name, cells.index(None), "a category in every row", FILL)
        codes = {cell: self.buckets if cell is None else self._bucket(cell) for cell in set(cells)}
        columns = np.eye(self.buckets + 1)[:, : self.buckets + self.blanks]
        return columns[[codes[cell] for cell in cells]]

    def _bucket(self, cell: str | float) -> int:
        return zlib.crc32(category(cell).encode("utf-8", "surrogatepass")) % self.buckets
