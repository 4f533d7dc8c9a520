"""Where the rows of a work have shifted, by the columns of its tables."""

from __future__ import annotations

from collections.abc import Sequence

from qufur.counts import counted
from qufur.estimates.input_shifts import Change, InputShift, input_shifts
from qufur.tables import Encoding
from qufur.tables.categories import Hashed
from qufur.tables.columns import Kind, Numeric
from qufur.workbook import Workbook

SHOWN = 5
"""Shifts that are shown, the largest."""


def shifts_of(book: Workbook) -> list[InputShift]:
    """Return where the inputs have shifted, the largest first."""
    return input_shifts(book.watch.inputs, column_names(book.encoding))


def column_names(encoding: Encoding) -> list[str]:
    """Return a name for each input; the numbers of a text, a list or a hash have that of their column."""
    return [column.name if _is_list(column) else name for column in encoding.columns for name in column.names]


def _is_list(column: Kind) -> bool:
    return isinstance(column, Hashed) or (isinstance(column, Numeric) and column.vector)


def shift_sentences(shifts: Sequence[InputShift]) -> list[str]:
    """Say what shifted, in sentences; of many only of the largest.

    >>> shift_sentences([])
    ['none: the inputs are of the kind they were']
    >>> change = Change("wind", 2.04, 7.5, 3.21, False)
    >>> shift_sentences([InputShift(400, 8, 3.0, 2.0, (change,))])
    ['after 400 rows: wind from 2.04 to 7.5 (+3.2 deviations)']
    """
    if not shifts:
        return ["none: the inputs are of the kind they were"]
    more = len(shifts) - SHOWN
    said = [
        f"after {counted(shift.row, 'row')}: {'; '.join(map(_said, shift.changes))}"
        for shift in shifts[:SHOWN]
    ]
    return said if more <= 0 else [*said, f"and {more} smaller"]


def _said(change: Change) -> str:
    name = f"the spread of {change.column}" if change.spread else change.column
    if change.before != change.before:
        return f"{name} ({change.deviations:.1f} deviations)"
    ends = " to ".join(f"{value:.3g}" for value in (change.before, change.after))
    return f"{name} from {ends} ({change.deviations:+.1f} deviations)"
