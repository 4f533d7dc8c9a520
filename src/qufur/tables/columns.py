"""What a column can be: numbers, lists of numbers, categories or text; and how that is stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import LARGEST, Bools, Floats
from qufur.tables.batch import CORRECT, FILL, Batch, Column
from qufur.tables.categories import Categorical, Hashed
from qufur.tables.cells import first_bad, is_missing, numbers, numbers_or_nan, vectors
from qufur.tables.text_vectors import text_vectors

NO_NUMBER = "Correct the cell, drop the row, or give --impute, which takes it as empty."


@dataclass(frozen=True)
class Numeric:
    """A number per cell, or a list of them: as it is, or (number − mean) / deviation.

    What was constant in the table of its moments is 0 if it is scaled.

    Parameters
    ----------
    name
        Of the column.
    mean, deviation
        Of the table in which it came, one per number in a cell.
    vector
        Whether cells are lists.
    blanks
        Whether an indicator of missing cells is added.
    scaled
        Whether numbers are scaled; models that scale inputs take them as they are.
    added
        Whether the column came later than others: an indicator is then 1 where the number is known. Rows of
        before are like missing cells.
    """

    name: str
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    vector: bool = False
    blanks: bool = False
    scaled: bool = field(default=True, kw_only=True)
    added: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = "numeric"

    @property
    def names(self) -> list[str]:
        """One per column of x."""
        indicators = {"missing": self.blanks, "known": self.added}
        return [*self.own_names, *(f"{self.name} {what}" for what, there in indicators.items() if there)]

    @property
    def own_names(self) -> list[str]:
        """One per number in a cell."""
        return [f"{self.name}[{j}]" for j in range(len(self.mean))] if self.vector else [self.name]

    @property
    def before(self) -> list[float]:
        """What the columns of x were for rows that came before this entry."""
        own = [0.0] * len(self.mean) if self.scaled else list(self.mean)
        return [*own, *[0.0] * (self.blanks + self.added)]

    @property
    def tells_missing(self) -> bool:
        """Whether an indicator says where cells are missing."""
        return self.blanks or self.added

    @property
    def allowed(self) -> str:
        """What a cell may be."""
        return f"lists of {len(self.mean)} finite numbers" if self.vector else "finite numbers"

    @property
    def note(self) -> str:
        """What to say of the first table, if cells are read as what they need not be."""
        return ""

    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the columns of x; with `impute` a cell that is missing or no number is the mean."""
        column = batch.cells(self.name, impute)
        read = numbers_or_nan if impute and self.is_single else self._read
        values = read(column)
        if values is None:
            place = first_bad(column, self._read)
            raise batch.refuse(self.name, place, self.allowed, NO_NUMBER if self.is_single else CORRECT)
        missing: Bools = np.isnan(values[:, 0])
        if missing.any() and not impute:
            raise batch.refuse(self.name, int(missing.argmax()), self.allowed, FILL)
        encoded = self.transform(np.where(missing[:, None], self.mean, values))
        odd = ~(np.abs(encoded) < LARGEST).all(axis=1)
        if odd.any():
            large = "not too large to be scaled" if self.scaled else f"below {LARGEST:g} in size"
            raise batch.refuse(self.name, int(odd.argmax()), f"numbers {large}", CORRECT)
        return np.column_stack([encoded, *[missing] * self.blanks, *[~missing] * self.added])

    def transform(self, values: Floats) -> Floats:
        """Return numbers as inputs, too large ones included."""
        if not self.scaled:
            return values
        deviation = np.array(self.deviation)
        scaled = np.zeros_like(values)
        with np.errstate(over="ignore"):
            np.divide(values - np.array(self.mean), deviation, out=scaled, where=deviation > 0)
        return scaled

    def coarse(self) -> Numeric:
        """Return the entry with moments that say no more about single rows than their order of magnitude.

        Deviations become powers of 2, and means multiples of their deviation.

        >>> coarse = Numeric("pay", (1234.5,), (87.25,)).coarse()
        >>> coarse.mean, coarse.deviation
        ((1216.0,), (64.0,))
        """
        deviation = tuple(2.0 ** round(math.log2(one)) if one > 0 else 0.0 for one in self.deviation)
        pairs = zip(self.mean, deviation, strict=True)
        mean = tuple(unit * round(one / unit) if unit else one for one, unit in pairs)
        return replace(self, mean=mean, deviation=deviation)

    @property
    def is_single(self) -> bool:
        """Whether a cell is one number, and not a list or a text."""
        return not self.vector

    @property
    def _read(self) -> Callable[[Column], Floats | None]:
        return (lambda column: vectors(column, len(self.mean))) if self.vector else numbers


@dataclass(frozen=True)
class Part(Numeric):
    """Some numbers of a list per cell, which were the same in all rows when the list came.

    Parameters
    ----------
    places
        Of the numbers in the list.
    length
        Of the list.
    """

    places: tuple[int, ...] = field(kw_only=True)
    length: int = field(kw_only=True)
    kind: ClassVar[str] = "part"

    @property
    def names(self) -> list[str]:
        return [f"{self.name}[{place}]" for place in self.places]

    @property
    def allowed(self) -> str:
        return f"lists of {self.length} finite numbers"

    @property
    def _read(self) -> Callable[[Column], Floats | None]:
        return self._numbers

    def _numbers(self, column: Column) -> Floats | None:
        found = vectors(column, self.length)
        return None if found is None else found[:, list(self.places)]


@dataclass(frozen=True)
class Text(Numeric):
    """A text per cell, as the vector that a language model makes of it; its numbers are scaled like others.

    Parameters
    ----------
    model
        The name of the model, or its folder. The vectors of every table come from the same; it is not
        fetched again.
    """

    model: str = field(kw_only=True)
    kind: ClassVar[str] = "text"

    @property
    def allowed(self) -> str:
        return "text"

    @property
    def _read(self) -> Callable[[Column], Floats | None]:
        return partial(text_vectors, model=self.model, length=len(self.mean))


@dataclass(frozen=True)
class Missing:
    """1 where a cell is missing, for a column that had no missing cells when it came.

    Parameters
    ----------
    name
        Of the column.
    numeric
        Whether a cell that is no number counts as missing.
    """

    name: str
    numeric: bool
    kind: ClassVar[str] = "missing"
    note: ClassVar[str] = ""
    before: ClassVar[list[float]] = [0.0]
    tells_missing: ClassVar[bool] = True

    @property
    def names(self) -> list[str]:
        """One per column of x."""
        return [f"{self.name} missing"]

    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the column of x."""
        column = batch.cells(self.name, impute)
        missing = np.isnan(numbers_or_nan(column)[:, 0]) if self.numeric else is_missing(column)
        return missing[:, None].astype(np.float64)


Kind = Numeric | Categorical | Text | Hashed | Missing
KINDS: dict[str, type[Kind]] = {
    kind.kind: kind for kind in (Numeric, Categorical, Text, Hashed, Missing, Part)
}


def kind_state(kind: Kind) -> dict[str, Any]:
    """Return a kind as JSON values."""
    fields = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(kind).items()
    }
    return {"kind": kind.kind, **fields}


def kind_from_state(state: dict[str, Any]) -> Kind:
    """Return the kind of which `kind_state` came."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in state.items()
    }
    return KINDS[fields.pop("kind")](**fields)
