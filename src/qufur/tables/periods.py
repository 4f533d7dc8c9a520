"""Periods of rows: hour, day, week or month by a column of dates, in local time as written."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.tables.batch import CORRECT, Batch
from qufur.tables.cells import Column, first_bad
from qufur.tables.dates import FORMATS, moments_in

UNITS = ("hour", "day", "week", "month")
DATED = tuple(format for format in FORMATS if format != "hh:mm")
WRITE_DATES = "Write dates as 2024-02-29, or 2024-02-29 06:30."


def periods_in(column: Column, format: str, unit: str) -> Floats | None:
    """Return the number of each cell's period, which increases with time; NaN for missing cells.

    Returns None if a cell is not a date. Weeks begin on Monday.

    >>> days = ["2024-01-07 23:59", "2024-01-08", None, "2024-02-01"]
    >>> [np.diff(periods_in(days, "yyyy-mm-dd", unit)[[0, 1, 3]]).tolist() for unit in UNITS]
    [[1.0, 576.0], [1.0, 24.0], [1.0, 3.0], [0.0, 1.0]]
    """
    moments = None if isinstance(column, np.ndarray) else moments_in(column, format)
    if moments is None:
        return None
    hour, day = moments[:, 0], moments[:, -1]
    if unit == "hour":
        return np.asarray(24 * day + np.minimum(np.floor(hour), 23))  # leap seconds stay in their hour
    if unit == "month":
        dated = ~np.isnan(day)
        day[dated] = day[dated].astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(int)
        return np.asarray(day)
    return np.asarray(day if unit == "day" else (day + 3) // 7)  # 1970 began on a Thursday


@dataclass(frozen=True)
class Periods:
    """Assignment of rows to periods.

    Parameters
    ----------
    unit
        One of `UNITS`.
    column, format, example
        The column of dates, their format, and one of them for messages.
    """

    unit: str
    column: str
    format: str
    example: str

    def __post_init__(self) -> None:
        if self.unit not in UNITS or self.format not in DATED:
            raise invalid("unit and format", "Periods", "known", f"{self.unit!r} and {self.format!r}")

    def of(self, batch: Batch) -> Floats:
        """Return the number of each row's period, NaN for missing cells."""
        column = batch.column(self.column)
        read = partial(periods_in, format=self.format, unit=self.unit)
        periods = read(column)
        if periods is None:
            allowed = f"dates such as {self.example!r}"
            raise batch.cell_error(self.column, first_bad(column, read), allowed, CORRECT)
        return periods

    def begin(self, period: int) -> str:
        """Return the start of a period as text.

        >>> [Periods(unit, "day", "yyyy-mm-dd", "").begin(2818) for unit in UNITS]
        ['1970-04-28 10:00', '1977-09-19', '2024-01-01', '2204-11']
        """
        if self.unit == "hour":
            return f"{str(np.datetime64(period, 'h')).replace('T', ' ')}:00"
        if self.unit == "month":
            return str(np.datetime64(period, "M"))
        return str(np.datetime64(period if self.unit == "day" else 7 * period - 3, "D"))


class PeriodCounts:
    """Number of rows per period; late rows and rows without a time count for the latest period so far.

    Parameters
    ----------
    running
        Period before the first row; NaN if there is none.

    Attributes
    ----------
    late, untimed
        Number of rows of an earlier period, and of rows without a time.

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
        """Add the periods of consecutive rows."""
        latest = np.fmax.accumulate(np.append(self._running, periods))[1:]
        self._running = float(latest[-1])
        self.late += int((periods < latest).sum())
        self.untimed += int(np.isnan(periods).sum())
        dated = latest[~np.isnan(latest)]
        self._before += len(latest) - len(dated)
        for period, rows in zip(*np.unique(dated.astype(np.int64), return_counts=True), strict=True):
            self._rows[int(period)] = self._rows.get(int(period), 0) + int(rows)

    @property
    def rows(self) -> dict[int, int]:
        """Rows by period; rows before the first known period count for that period."""
        if not self._rows:
            return {}
        first = min(self._rows)
        return self._rows | {first: self._rows[first] + self._before}


class PeriodSurvey:
    """Inference of the column of dates and the rows per period, in one pass over the first table.

    Parameters
    ----------
    unit
        One of `UNITS`.
    time
        The column of dates; None to infer it.
    aside
        Columns that are not candidates.
    """

    def __init__(self, unit: str, time: str | None, aside: Collection[str] = ()) -> None:
        self._unit, self._column, self._aside = unit, time, aside
        self._counts: dict[str, dict[str, PeriodCounts]] | None = None
        self._examples: dict[str, str] = {}
        self._file = ""

    def add(self, batch: Batch) -> None:
        """Update the inference with a batch; raise InvalidError if the given column has no dates."""
        if self._counts is None:
            candidates = [name for name in batch.columns if name not in self._aside]
            names = candidates if self._column is None else [self._column]
            self._counts = {name: {format: PeriodCounts() for format in DATED} for name in names}
            self._file = batch.file
        for name, counts in list(self._counts.items()):
            column, formats = batch.column(name), list(counts)
            for format in formats:
                periods = periods_in(column, format, self._unit)
                if periods is None:
                    del counts[format]
                else:
                    counts[format].add(periods)
            cell = next((cell for cell in column if cell is not None), None)
            if not counts:
                if self._column is not None:
                    raise self._format_error(batch, formats)
                del self._counts[name]
            elif cell is not None:
                self._examples.setdefault(name, str(cell))

    def settle(self) -> tuple[Periods, PeriodCounts]:
        """Return the periods and the rows of each; raise InvalidError if the column of dates is ambiguous."""
        dated = {name: counts for name, counts in (self._counts or {}).items() if name in self._examples}
        if self._column is None:
            dated = {name: counts for name, counts in dated.items() if len(counts) == 1}
        if len(dated) != 1:
            raise self._ambiguity_error(list(dated))
        ((name, counts),) = dated.items()
        if len(counts) > 1:
            received = f"{self._examples[name]!r} and others, which are {' or '.join(counts)}"
            allowed = "dates that can be read in one way"
            raise invalid(f"column {name!r}", self._file, allowed, received, WRITE_DATES)
        ((format, rows),) = counts.items()
        return Periods(self._unit, name, format, self._examples[name]), rows

    def _format_error(self, batch: Batch, formats: list[str]) -> ValueError:
        """Build the error for the cell at which the last date format that matched so far fails."""
        name = self._column or ""
        reads = [partial(periods_in, format=format, unit=self._unit) for format in formats]
        index = max(first_bad(batch.column(name), read) for read in reads)
        return batch.cell_error(name, index, "dates, all written in the same way", WRITE_DATES)

    def _ambiguity_error(self, candidates: list[str]) -> ValueError:
        if self._column is not None:
            return invalid(f"column {self._column!r}", self._file, "of dates", "empty cells only")
        allowed = f"given unless one column of {self._file} has dates"
        received = f"dates in {' and '.join(map(repr, candidates))}" if candidates else "no column of dates"
        return invalid("time", "PeriodSurvey", allowed, received, "" if candidates else WRITE_DATES)
