"""Column types of an encoding: their base, numbers, lists of numbers, text, missing indicators; JSON form."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import LARGEST, Bools, Floats
from qufur.tables.batch import CORRECT, FILL, Batch
from qufur.tables.cells import Column, first_bad, is_missing, numbers, numbers_or_nan, vectors
from qufur.tables.text import text_vectors

NO_NUMBER = "Correct the cell, drop the row, or give `impute=True`, which treats it as empty."
KINDS: dict[str, type[Kind]] = {}
"""Column types by the name that state files store under the key "kind"."""


@dataclass(frozen=True)
class Kind(ABC):
    """Entry of an encoding: cells of one column in, columns of x out.

    Parameters
    ----------
    name
        Name of the column.
    """

    name: str
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "kind"):
            KINDS[cls.kind] = cls

    @property
    @abstractmethod
    def value_names(self) -> list[str]:
        """Names of the inputs without indicators."""

    @property
    @abstractmethod
    def indicators(self) -> list[str]:
        """Suffixes of the indicator inputs, which come last: "missing" or "known"."""

    @abstractmethod
    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the columns of x; with `impute`, cells may be missing."""

    @property
    def names(self) -> list[str]:
        """Names of the inputs, one per column of x."""
        return [*self.value_names, *(f"{self.name} {word}" for word in self.indicators)]

    @property
    def before(self) -> list[float]:
        """Values of the inputs for rows that were encoded before this entry was added."""
        return [0.0] * len(self.names)

    @property
    def note(self) -> str:
        """Message about a reading of cells that may not be intended; empty if there is none."""
        return ""


@dataclass(frozen=True)
class Numeric(Kind):
    """Column with a number or a list of numbers per cell.

    If scaled, a number becomes (number − mean) / deviation, and 0 if the deviation is 0.

    Parameters
    ----------
    mean, deviation
        Moments in the table that introduced the column, one per number in a cell.
    vector
        Whether cells are lists.
    blanks
        Whether an indicator of missing cells is added.
    scaled
        Whether numbers are scaled; False for models that scale inputs themselves.
    added
        Whether a later table introduced the column. An indicator is then 1 where the number is known, and
        rows of earlier tables count as missing cells.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    vector: bool = False
    blanks: bool = False
    scaled: bool = field(default=True, kw_only=True)
    added: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = "numeric"

    @property
    def value_names(self) -> list[str]:
        return [f"{self.name}[{j}]" for j in range(len(self.mean))] if self.vector else [self.name]

    @property
    def indicators(self) -> list[str]:
        return [word for word, used in (("missing", self.blanks), ("known", self.added)) if used]

    @property
    def before(self) -> list[float]:
        values = [0.0] * len(self.mean) if self.scaled else list(self.mean)
        return [*values, *(0.0 for _ in self.indicators)]

    @property
    def allowed(self) -> str:
        """Description of the allowed cells, for errors."""
        return f"lists of {len(self.mean)} finite numbers" if self.vector else "finite numbers"

    def read(self, column: Column) -> Floats | None:
        """Return the numbers in cells (n, d), NaN for missing cells; None if a cell is not of this type."""
        return vectors(column, len(self.mean)) if self.vector else numbers(column)

    def encode(self, batch: Batch, impute: bool) -> Floats:
        """Return the columns of x; with `impute`, the mean replaces cells that are not numbers."""
        column = batch.cells(self.name, impute)
        values = numbers_or_nan(column) if impute and self.is_single else self.read(column)
        if values is None:
            index = first_bad(column, self.read)
            raise batch.cell_error(self.name, index, self.allowed, NO_NUMBER if self.is_single else CORRECT)
        missing: Bools = np.isnan(values[:, 0])
        if missing.any() and not impute:
            raise batch.cell_error(self.name, int(missing.argmax()), self.allowed, FILL)
        encoded = self.transform(np.where(missing[:, None], self.mean, values))
        too_large = ~(np.abs(encoded) < LARGEST).all(axis=1)
        if too_large.any():
            limit = "not too large to be scaled" if self.scaled else f"below {LARGEST:g} in size"
            raise batch.cell_error(self.name, int(too_large.argmax()), f"numbers {limit}", CORRECT)
        if self.blanks or self.added:
            marks = {"missing": missing, "known": ~missing}
            return np.column_stack([encoded, *(marks[word] for word in self.indicators)])
        return encoded

    def transform(self, values: Floats) -> Floats:
        """Return numbers as inputs, without a check of their size."""
        if not self.scaled:
            return values
        deviation = np.array(self.deviation)
        scaled = np.zeros_like(values)
        with np.errstate(over="ignore"):
            np.divide(values - np.array(self.mean), deviation, out=scaled, where=deviation > 0)
        return scaled

    def coarse(self) -> Numeric:
        """Return the entry with rounded moments, which reveal only the order of magnitude of single rows.

        Deviations become powers of 2, and means multiples of their deviation.

        >>> coarse = Numeric("pay", (1234.5,), (87.25,)).coarse()
        >>> coarse.mean, coarse.deviation
        ((1216.0,), (64.0,))
        """
        deviation = tuple(2.0 ** round(math.log2(value)) if value > 0 else 0.0 for value in self.deviation)
        pairs = zip(self.mean, deviation, strict=True)
        mean = tuple(unit * round(value / unit) if unit else value for value, unit in pairs)
        return replace(self, mean=mean, deviation=deviation)

    @property
    def is_single(self) -> bool:
        """Whether a cell is one plain number, not a list or formatted text."""
        return not self.vector


@dataclass(frozen=True)
class Part(Numeric):
    """Elements of a column of lists that were constant in the table that introduced the column.

    Parameters
    ----------
    places
        Indices of the elements in the list.
    length
        Length of the list.
    """

    places: tuple[int, ...] = field(kw_only=True)
    length: int = field(kw_only=True)
    kind: ClassVar[str] = "part"

    @property
    def value_names(self) -> list[str]:
        return [f"{self.name}[{index}]" for index in self.places]

    @property
    def allowed(self) -> str:
        return f"lists of {self.length} finite numbers"

    def read(self, column: Column) -> Floats | None:
        values = vectors(column, self.length)
        return None if values is None else values[:, list(self.places)]


@dataclass(frozen=True)
class Text(Numeric):
    """Column of text, encoded as the embedding of a language model and scaled like other numbers.

    Parameters
    ----------
    model
        Name or folder of the model, the same for every table. `encode` never downloads it.
    """

    model: str = field(kw_only=True)
    kind: ClassVar[str] = "text"

    @property
    def allowed(self) -> str:
        return "text"

    def read(self, column: Column) -> Floats | None:
        return text_vectors(column, self.model, len(self.mean))


@dataclass(frozen=True)
class Missing(Kind):
    """Indicator of missing cells, for a column that had none in the table that introduced it.

    Parameters
    ----------
    numeric
        Whether a cell that is not a number counts as missing.
    """

    numeric: bool
    kind: ClassVar[str] = "missing"
    value_names: ClassVar[list[str]] = []
    indicators: ClassVar[list[str]] = ["missing"]

    def encode(self, batch: Batch, impute: bool) -> Floats:
        column = batch.cells(self.name, impute)
        missing = np.isnan(numbers_or_nan(column)[:, 0]) if self.numeric else is_missing(column)
        return missing[:, None].astype(np.float64)


def kind_state(entry: Kind) -> dict[str, Any]:
    """Return an entry as JSON values; field names are the keys in state files."""
    fields = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(entry).items()
    }
    return {"kind": entry.kind, **fields}


def kind_from_state(state: dict[str, Any]) -> Kind:
    """Return the entry whose JSON values `kind_state` returned."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in state.items()
    }
    return KINDS[fields.pop("kind")](**fields)
