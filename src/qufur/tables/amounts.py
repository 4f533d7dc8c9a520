"""Numbers as people write them: 1,000, 5% and € 3.20."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.tables.batch import Column
from qufur.tables.cells import listed, numbers
from qufur.tables.columns import Numeric
from qufur.tables.moments import Moments

_UNIT = "[€$£¥]|EUR|USD|GBP|CHF|JPY"
_THOUSANDS = "[,'’\u00a0\u202f]"
_AMOUNT = re.compile(
    rf"([+-]?)\s*({_UNIT})?\s*([+-]?)([0-9]+(?:\.[0-9]*)?|[1-9][0-9]{{0,2}}(?:{_THOUSANDS}[0-9]{{3}})+(?:\.[0-9]+)?)"
    rf"\s*(%|{_UNIT})?"
)


def amount(text: str) -> tuple[float, str] | None:
    """Return a number and its unit, if a text is nothing else.

    >>> [amount(text) for text in ("1,000", "5%", "-€ 3.20", "3 EUR", "LH7", "1,5", "€ 3 $")]
    [(1000.0, ''), (0.05, '%'), (-3.2, '€'), (3.0, 'EUR'), None, None, None]
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    sign, before, inner, digits, after = found.groups(default="")
    if (sign and inner) or (before and after):
        return None
    number = float(sign + inner + re.sub(_THOUSANDS, "", digits))
    return (number / 100 if after == "%" else number), before or after


def amounts(column: Column, unit: str) -> Floats | None:
    """Return the cells as (n, 1) floats, NaN where they are missing; None if one is of another unit.

    A number without a unit is taken as it is: spreadsheets keep 5% as 0.05.

    >>> amounts(["5%", None, "0.25", 1], "%").ravel()
    array([0.05,  nan, 0.25, 1.  ])
    """
    plain = numbers(column)
    if plain is not None:
        return plain
    cells = listed(column)
    if not all(cell is None or isinstance(cell, str | int | float) for cell in cells):
        return None
    known = {cell: _value(cell, unit) for cell in set(cells)}
    values = np.array([known[cell] for cell in cells], np.float64)
    return None if np.isinf(values).any() else values[:, None]


def _value(cell: Any, unit: str) -> float:
    """Return a number, NaN for none, and infinity for what is not one of this unit."""
    if cell is None:
        return math.nan
    plain = numbers([cell])
    if plain is not None:
        return float(plain.item())
    found = amount(cell) if isinstance(cell, str) else None
    return found[0] if found and found[1] in ("", unit) else math.inf


@dataclass(frozen=True)
class Amount(Numeric):
    """A number per cell, written with a unit or with commas between thousands.

    Parameters
    ----------
    unit
        A currency, % or nothing; the same in all cells that have one.
    example
        A cell of the first table, to show.
    """

    unit: str = field(kw_only=True)
    example: str = field(kw_only=True)
    kind: ClassVar[str] = "amount"

    @property
    def allowed(self) -> str:
        return f"numbers such as {self.example!r}"

    @property
    def note(self) -> str:
        value = (amount(self.example) or (math.nan,))[0]
        return f"Column {self.name!r} is read as numbers: {self.example!r} is {value:g}."

    @property
    def is_single(self) -> bool:
        return False  # to whoever reads plain numbers

    @property
    def _read(self) -> Callable[[Column], Floats | None]:
        return partial(amounts, unit=self.unit)


class AmountGuess:
    """Whether all cells of a column are amounts of one unit.

    Parameters
    ----------
    moments
        Of the plain numbers that came before.
    """

    def __init__(self, moments: Moments) -> None:
        self._moments, self._unit, self._example = moments, "", ""

    def add(self, column: Column) -> bool:
        """Take in some cells; return whether it can still be so."""
        for cell in column:
            found = amount(cell) if isinstance(cell, str) and not self._unit else None
            if found and (found[1] or not self._example) and numbers([cell]) is None:
                self._unit, self._example = found[1], str(cell)
        values = amounts(column, self._unit)
        if values is None or not (np.abs(values) < LARGEST)[~np.isnan(values)].all():
            return False
        self._moments.add(values[~np.isnan(values[:, 0])])
        return True

    def kind(self, name: str, blanks: bool) -> Amount | None:
        """Return what the column is."""
        mean, deviation = (tuple(part.tolist()) for part in (self._moments.mean, self._moments.std))
        return Amount(name, mean, deviation, blanks=blanks, unit=self._unit, example=self._example)
