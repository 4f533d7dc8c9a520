"""Columns of numbers, and of lists of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from qufur.arrays import LARGEST, Bools, Floats
from qufur.tables.batch import FILL, Batch, Column
from qufur.tables.cells import first_bad, numbers, vectors

CORRECT = "Correct the cell or drop the row."


@dataclass(frozen=True)
class Numeric:
    """A number per cell, or a list of them: as it is, or (number − mean) / deviation.

    What was constant in the first table is 0 for good if it is scaled.

    Parameters
    ----------
    name
        Of the column.
    mean, deviation
        Of the first table, one per number in a cell.
    vector
        Whether cells are lists.
    blanks
        Whether an indicator of missing cells is added.
    scaled
        Whether numbers are scaled; models that scale inputs take them as they are.
    """

    name: str
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    vector: bool = False
    blanks: bool = False
    scaled: bool = field(default=True, kw_only=True)
    kind: ClassVar[str] = "numeric"

    @property
    def names(self) -> list[str]:
        """One per column of x."""
        own = [f"{self.name}[{j}]" for j in range(len(self.mean))] if self.vector else [self.name]
        return [*own, f"{self.name} missing"] if self.blanks else own

    @property
    def allowed(self) -> str:
        """What a cell may be."""
        return f"lists of {len(self.mean)} finite numbers" if self.vector else "finite numbers"

    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the columns of x; with `impute` a missing cell is the mean."""
        column = batch.column(self.name)
        values = self._read(column)
        if values is None:
            place = first_bad(column, self._read)
            raise batch.refuse(self.name, place, self.allowed, CORRECT)
        missing: Bools = np.isnan(values[:, 0])
        if missing.any() and not impute:
            raise batch.refuse(self.name, int(missing.argmax()), self.allowed, FILL)
        encoded = self.transform(np.where(missing[:, None], self.mean, values))
        odd = ~(np.abs(encoded) < LARGEST).all(axis=1)
        if odd.any():
            large = "not too large to be scaled" if self.scaled else f"below {LARGEST:g} in size"
            raise batch.refuse(self.name, int(odd.argmax()), f"numbers {large}", CORRECT)
        return np.column_stack([encoded, missing]) if self.blanks else encoded

    def transform(self, values: Floats) -> Floats:
        """Return numbers as inputs, too large ones included."""
        if not self.scaled:
            return values
        deviation = np.array(self.deviation)
        scaled = np.zeros_like(values)
        with np.errstate(over="ignore"):
            np.divide(values - np.array(self.mean), deviation, out=scaled, where=deviation > 0)
        return scaled

    @property
    def _read(self) -> Callable[[Column], Floats | None]:
        return (lambda column: vectors(column, len(self.mean))) if self.vector else numbers
