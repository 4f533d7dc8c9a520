"""Dates and times: hour, weekday, month and trend."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats
from qufur.tables.batch import Column
from qufur.tables.cells import listed
from qufur.tables.columns import Numeric
from qufur.tables.moments import Moments

PARTS = ("hour", "weekday", "month", "trend")
CALENDAR_MEAN = {"hour": 11.5, "weekday": 3.0, "month": 6.5}
CALENDAR_DEVIATION = {"hour": 6.9, "weekday": 2.0, "month": 3.5, "trend": 365.0}
"""Those of years to come: a first table of some days has only a month, and its trend is none."""
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(:(?P<second>[0-9]{2})([.,][0-9]+)?)?"
_ZONE = r"\s*(Z|[A-Z]{3,4}|[+-][0-9]{2}:?[0-9]{2})?"
_YEAR, _MONTH, _DAY = "(?P<year>[0-9]{4})", "(?P<month>[0-9]{1,2})", "(?P<day>[0-9]{1,2})"
_DAYS = {
    "yyyy-mm-dd": f"{_YEAR}-{_MONTH}-{_DAY}",
    "yyyy/mm/dd": f"{_YEAR}/{_MONTH}/{_DAY}",
    "dd.mm.yyyy": rf"{_DAY}\.{_MONTH}\.{_YEAR}",
    "mm/dd/yyyy": f"{_MONTH}/{_DAY}/{_YEAR}",
    "dd/mm/yyyy": f"{_DAY}/{_MONTH}/{_YEAR}",
}
FORMATS = {name: re.compile(rf"{days}([T ]\s*{_CLOCK}{_ZONE})?") for name, days in _DAYS.items()}
FORMATS["hh:mm"] = re.compile(_CLOCK)
_FIRST_DAY = date(1970, 1, 1).toordinal()


def moment(text: str, format: str) -> tuple[float, float, float, float] | None:
    """Return hour, weekday from Monday as 0, month and days since 1970 as they are written, in any time zone.

    >>> moment("2024-02-29T06:30:00Z", "yyyy-mm-dd"), moment("29.2.2024", "dd.mm.yyyy")
    ((6.5, 3, 2, 19782), (0.0, 3, 2, 19782))
    >>> moment("30.2.2024", "dd.mm.yyyy"), moment("07:45", "hh:mm")
    (None, (7.75, 0, 0, 0))
    """
    found = FORMATS[format].fullmatch(text)
    if found is None:
        return None
    parts = {name: int(value or 0) for name, value in found.groupdict().items()}
    if parts["hour"] > 23 or parts["minute"] > 59 or parts["second"] > 60:
        return None
    hour = parts["hour"] + parts["minute"] / 60 + parts["second"] / 3600
    if "year" not in parts:
        return hour, 0, 0, 0
    try:
        day = date(parts["year"], parts["month"], parts["day"])
    except ValueError:
        return None
    return hour, day.weekday(), day.month, day.toordinal() - _FIRST_DAY


def moments_in(column: Column, format: str, parts: tuple[str, ...] = PARTS) -> Floats | None:
    """Return the parts of dates (n, parts), NaN where they are missing; None if a cell is no date."""
    cells = listed(column)
    if not all(cell is None or isinstance(cell, str) for cell in cells):
        return None
    known = {cell: (math.nan,) * 4 if cell is None else moment(cell, format) for cell in set(cells)}
    if None in known.values():
        return None
    values = np.array([known[cell] for cell in cells], np.float64).reshape(-1, 4)
    return values[:, [PARTS.index(part) for part in parts]]


@dataclass(frozen=True)
class Dates(Numeric):
    """A date or a time per cell, as numbers: hour, weekday from Monday as 0, month, and days since 1970.

    Parameters
    ----------
    format
        How dates are written; one of `FORMATS`.
    parts
        Those that the first table had: dates without times have no hour, and times nothing else.
    example
        A cell of the first table, to show.
    """

    format: str = field(kw_only=True)
    parts: tuple[str, ...] = field(kw_only=True)
    example: str = field(kw_only=True)
    kind: ClassVar[str] = "dates"

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name} {part}" for part in self.parts]

    @property
    def allowed(self) -> str:
        return f"dates such as {self.example!r}"

    @property
    def note(self) -> str:
        taken = f"{self.format}, such as {self.example!r}: {', '.join(self.parts)}"
        return f"Column {self.name!r} is read as {taken}. --categorical keeps its text."

    @property
    def _read(self) -> Callable[[Column], Floats | None]:
        return partial(moments_in, format=self.format, parts=self.parts)


class DateGuess:
    """Whether all cells of a column are dates or times, and in which way of writing."""

    def __init__(self) -> None:
        self._moments = {format: Moments() for format in FORMATS}
        self._example = ""

    def add(self, column: Column) -> bool:
        """Take in some cells; return whether it can still be so."""
        for format in list(self._moments):
            values = moments_in(column, format)
            if values is None:
                del self._moments[format]
            else:
                self._moments[format].add(values[~np.isnan(values[:, 0])])
        self._example = self._example or next((str(cell) for cell in column if cell is not None), "")
        return bool(self._moments)

    def kind(self, name: str, blanks: bool) -> Dates | None:
        """Return what the column is, if only one way of writing fits: 01/02/2024 fits two."""
        if len(self._moments) > 1:
            return None
        ((format, moments),) = self._moments.items()
        times = moments.mean[0] > 0
        parts = PARTS[:1] if format == "hh:mm" else PARTS if times else PARTS[1:]
        means = CALENDAR_MEAN | {"trend": float(moments.mean[-1])}
        mean, deviation = (tuple(found[part] for part in parts) for found in (means, CALENDAR_DEVIATION))
        return Dates(name, mean, deviation, True, blanks, format=format, parts=parts, example=self._example)
