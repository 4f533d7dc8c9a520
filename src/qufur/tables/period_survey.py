"""What a first table says of periods: which column has the dates, and how many rows come when."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.cells import first_bad
from qufur.tables.periods import DATED, PeriodCounts, Periods, periods_in

WRITE_DATES = "Write dates as 2024-02-29, or 2024-02-29 06:30."


class PeriodSurvey:
    """One pass over a first table: which column has the dates, and how many rows there are of each period.

    Parameters
    ----------
    unit
        One of `UNITS`.
    column
        The column of dates; None if it is to be found.
    aside
        Columns that it cannot be.
    """

    def __init__(self, unit: str, column: str | None, aside: Collection[str] = ()) -> None:
        self._unit, self._column, self._aside = unit, column, aside
        self._counts: dict[str, dict[str, PeriodCounts]] | None = None
        self._examples: dict[str, str] = {}
        self._file = ""

    def add(self, batch: Batch) -> None:
        """Take in a batch; a column that is said to have the dates must have them."""
        if self._counts is None:
            names = [name for name in batch.columns if name not in self._aside]
            names = names if self._column is None else [self._column]
            self._counts = {name: {format: PeriodCounts() for format in DATED} for name in names}
            self._file = batch.file
        for name in list(self._counts):
            column, counts = batch.column(name), self._counts[name]
            periods = {format: periods_in(column, format, self._unit) for format in counts}
            read = {format: found for format, found in periods.items() if found is not None}
            if not read and self._column is not None:
                raise self._refusal(batch, list(periods))
            for format, found in read.items():
                counts[format].add(found)
            self._counts[name] = {format: counts[format] for format in read}
            cell = next((cell for cell in column if cell is not None), None) if read else None
            if cell is not None:
                self._examples.setdefault(name, str(cell))
        self._counts = {name: counts for name, counts in self._counts.items() if counts}

    def settle(self) -> tuple[Periods, PeriodCounts]:
        """Return how rows are told apart, and how many there are of each period; or complain."""
        dated = {name: counts for name, counts in (self._counts or {}).items() if name in self._examples}
        if self._column is None:
            dated = {name: counts for name, counts in dated.items() if len(counts) == 1}
        if len(dated) != 1:
            raise self._unclear(list(dated))
        ((name, counts),) = dated.items()
        if len(counts) > 1:
            received = f"{self._examples[name]!r} and others, which are {' or '.join(counts)}"
            allowed = "dates that can be read in one way"
            raise invalid(f"column {name!r}", self._file, allowed, received, WRITE_DATES)
        ((format, found),) = counts.items()
        return Periods(self._unit, name, format, self._examples[name]), found

    def _refusal(self, batch: Batch, formats: list[str]) -> ValueError:
        """Build the error for the cell after which no way of writing fits any more."""
        name = self._column or ""
        reads = [partial(periods_in, format=format, unit=self._unit) for format in formats]
        place = max(first_bad(batch.column(name), read) for read in reads)
        return batch.refuse(name, place, "dates, all written in the same way", WRITE_DATES)

    def _unclear(self, found: list[str]) -> ValueError:
        if self._column is not None:
            return invalid(f"column {self._column!r}", self._file, "of dates", "empty cells only")
        allowed = f"given with --per, unless one column of {self._file} has dates"
        received = f"{' and '.join(map(repr, found))}, which have some" if found else "none that has"
        return invalid("--time", "qufur ask", allowed, received, "" if found else WRITE_DATES)
