"""Calendar features of dates and times: hour, weekday, month and trend."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import date
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats
from qufur.moments import Moments
from qufur.tables.cells import Column, listed
from qufur.tables.columns import Numeric

PARTS = ("hour", "weekday", "month", "trend")
CALENDAR_MEAN = {"hour": 11.5, "weekday": 3.0, "month": 6.5}
CALENDAR_DEVIATION = {"hour": 6.9, "weekday": 2.0, "month": 3.5, "trend": 365.0}
"""Moments over whole years, since those of the first table may not fit later ones.

A first table of a few days covers one month and has no trend.
"""
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
    """Return hour, weekday (Monday is 0), month and days since 1970 as written; time zones are ignored.

    >>> moment("2024-02-29T06:30:00Z", "yyyy-mm-dd"), moment("29.2.2024", "dd.mm.yyyy")
    ((6.5, 3, 2, 19782), (0.0, 3, 2, 19782))
    >>> moment("30.2.2024", "dd.mm.yyyy"), moment("07:45", "hh:mm")
    (None, (7.75, 0, 0, 0))
    """
    match = FORMATS[format].fullmatch(text)
    if match is None:
        return None
    parts = {name: int(value or 0) for name, value in match.groupdict().items()}
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
    """Return the parts of dates (n, parts), NaN for missing cells; None if a cell is not a date."""
    cells = listed(column)
    if not all(cell is None or isinstance(cell, str) for cell in cells):
        return None
    parsed = {cell: (math.nan,) * 4 if cell is None else moment(cell, format) for cell in set(cells)}
    if None in parsed.values():
        return None
    values = np.array([parsed[cell] for cell in cells], np.float64).reshape(-1, 4)
    return values[:, [PARTS.index(part) for part in parts]]


@dataclass(frozen=True)
class Dates(Numeric):
    """Column of dates or times, encoded as hour, weekday (Monday is 0), month and days since 1970.

    Parameters
    ----------
    format
        Format of the dates; one of `FORMATS`.
    parts
        Parts present in the first table: dates without times have no hour, times have nothing else.
    example
        A cell of the first table, for messages.
    """

    format: str = field(kw_only=True)
    parts: tuple[str, ...] = field(kw_only=True)
    example: str = field(kw_only=True)
    kind: ClassVar[str] = "dates"

    @property
    def value_names(self) -> list[str]:
        return [f"{self.name} {part}" for part in self.parts]

    @property
    def allowed(self) -> str:
        return f"dates such as {self.example!r}"

    @property
    def note(self) -> str:
        reading = f"{self.format}, such as {self.example!r}: {', '.join(self.parts)}"
        return f"Column {self.name!r} is read as {reading}. `categorical=` keeps its text."

    def read(self, column: Column) -> Floats | None:
        return moments_in(column, self.format, self.parts)


class DateGuess:
    """Detection of the format of a column of dates or times."""

    def __init__(self) -> None:
        self._moments = {format: Moments() for format in FORMATS}
        self._example = ""

    def add(self, column: Column) -> bool:
        """Update the detection with cells; return whether a format still matches."""
        for format in list(self._moments):
            values = moments_in(column, format)
            if values is None:
                del self._moments[format]
            else:
                self._moments[format].add(values[~np.isnan(values[:, 0])])
        self._example = self._example or next((str(cell) for cell in column if cell is not None), "")
        return bool(self._moments)

    def kind(self, name: str, blanks: bool) -> Dates | None:
        """Return the entry if exactly one format matches; 01/02/2024 matches two."""
        if len(self._moments) > 1:
            return None
        ((format, moments),) = self._moments.items()
        has_times = moments.mean[0] > 0
        parts: tuple[str, ...] = PARTS if has_times else PARTS[1:]
        if format == "hh:mm":
            parts = PARTS[:1]
        means = CALENDAR_MEAN | {"trend": float(moments.mean[-1])}
        mean, deviation = (tuple(values[part] for part in parts) for values in (means, CALENDAR_DEVIATION))
        return Dates(name, mean, deviation, True, blanks, format=format, parts=parts, example=self._example)
