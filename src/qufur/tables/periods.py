"""Periods of time: which hour, day, week or month a row is of, in the time as it is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.tables.batch import CORRECT, Batch, Column
from qufur.tables.cells import first_bad
from qufur.tables.dates import FORMATS, moments_in

UNITS = ("hour", "day", "week", "month")
DATED = tuple(format for format in FORMATS if format != "hh:mm")


def periods_in(column: Column, format: str, unit: str) -> Floats | None:
    """Return the number of each cell's period, which grows with time; NaN where it is missing.

    None if a cell is no date. Weeks begin on Monday.

    >>> days = ["2024-01-07 23:59", "2024-01-08", None, "2024-02-01"]
    >>> [np.diff(periods_in(days, "yyyy-mm-dd", unit)[[0, 1, 3]]).tolist() for unit in UNITS]
    [[1.0, 576.0], [1.0, 24.0], [1.0, 3.0], [0.0, 1.0]]
    """
    moments = None if isinstance(column, np.ndarray) else moments_in(column, format)
    if moments is None:
        return None
    hour, day = moments[:, 0], moments[:, -1]
    if unit == "hour":
        return np.asarray(24 * day + np.minimum(np.floor(hour), 23))  # a leap second is of its own hour
    if unit == "month":
        known = ~np.isnan(day)
        day[known] = day[known].astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(int)
        return np.asarray(day)
    return np.asarray(day if unit == "day" else (day + 3) // 7)  # 1970 began on a Thursday


@dataclass(frozen=True)
class Periods:
    """How rows are told apart by when they came.

    Parameters
    ----------
    unit
        One of `UNITS`.
    column, format, example
        The column of dates, how they are written, and one of them to show.
    """

    unit: str
    column: str
    format: str
    example: str

    def __post_init__(self) -> None:
        if self.unit not in UNITS or self.format not in DATED:
            raise invalid("unit and format", "Periods", "known", f"{self.unit!r} and {self.format!r}")

    def of(self, batch: Batch) -> Floats:
        """Return the number of each row's period, NaN where its cell is missing."""
        column = batch.column(self.column)
        read = partial(periods_in, format=self.format, unit=self.unit)
        found = read(column)
        if found is None:
            allowed = f"dates such as {self.example!r}"
            raise batch.refuse(self.column, first_bad(column, read), allowed, CORRECT)
        return found

    def begin(self, period: int) -> str:
        """Return when a period begins.

        >>> [Periods(unit, "day", "yyyy-mm-dd", "").begin(2818) for unit in UNITS]
        ['1970-04-28 10:00', '1977-09-19', '2024-01-01', '2204-11']
        """
        if self.unit == "hour":
            return f"{str(np.datetime64(period, 'h')).replace('T', ' ')}:00"
        if self.unit == "month":
            return str(np.datetime64(period, "M"))
        return str(np.datetime64(period if self.unit == "day" else 7 * period - 3, "D"))


class PeriodCounts:
    """How many rows there are of each period; those that come late, or at no known time, are of the last one.

    Parameters
    ----------
    running
        The period that ran before the first row; NaN if there was none.

    Attributes
    ----------
    late, untimed
        Rows that come late, and rows at no known time.

    Examples
    --------
    >>> counts = PeriodCounts()
    >>> counts.add(np.array([np.nan, 7.0, 8.0, 7.0, np.nan]))
    >>> counts.rows, counts.late, counts.untimed
    ({7: 2, 8: 3}, 1, 2)
    """

    def __init__(self, running: float = math.nan) -> None:
        self._running = running
        self._before, self._rows = 0, dict[int, int]()
        self.late, self.untimed = 0, 0

    def add(self, periods: Floats) -> None:
        """Take in the periods of some rows."""
        found = np.fmax.accumulate(np.append(self._running, periods))[1:]
        self._running = float(found[-1])
        self.late += int((periods < found).sum())
        self.untimed += int(np.isnan(periods).sum())
        known = found[~np.isnan(found)]
        self._before += len(found) - len(known)
        for period, rows in zip(*np.unique(known.astype(np.int64), return_counts=True), strict=True):
            self._rows[int(period)] = self._rows.get(int(period), 0) + int(rows)

    @property
    def rows(self) -> dict[int, int]:
        """Rows by period; those before the first that is known are of that one."""
        first = min(self._rows, default=0)
        return self._rows | ({first: self._rows[first] + self._before} if self._rows else {})
