"""Where the rows of a work have shifted, by the columns of its tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from qufur.arrays import Bools
from qufur.counts import counted
from qufur.estimates.input_shifts import Change, InputShift, input_shifts, largest_shifts, only_advances
from qufur.tables import Encoding
from qufur.tables.categories import Categorical, Hashed
from qufur.tables.columns import Kind, Numeric
from qufur.tables.dates import FORMATS, Dates
from qufur.workbook import Workbook

SHOWN = 5
"""Maximum number of shifts shown: the largest ones, in the order of the stream."""
LEAST_SHARE = 0.25
"""A column is named if it changed by at least this share of the largest change."""
CALENDAR = {
    *("date", "day", "dom", "dow", "doy", "hour", "hr", "minute", "mnth", "month", "quarter", "season"),
    *("timestamp", "week", "weekday", "weekend", "year", "yr"),
}
"""Last words of the names of calendar columns, such as `arrival_month` or `day of week`."""
NUMBERING = {"index", "name", "no", "nr", "num", "number"}
"""Words that may follow: `week_number`."""
NOT_CALENDAR = {"by", "each", "every", "last", "next", "past", "per", "prev", "previous"}
"""Words that make it another quantity: `sales_per_month`, `price_last_year`."""


def shifts_of(book: Workbook) -> list[InputShift]:
    """Return where the inputs have shifted, in the order of the stream. Calendar columns raise no alarm."""
    inputs = book.watch.inputs
    ignored = is_calendar(book.encoding)
    if inputs.anchor is not None:
        ignored = ignored | only_advances(inputs)
    return input_shifts(inputs, column_names(book.encoding), ignored)


def is_calendar(encoding: Encoding) -> Bools:
    """Mark the inputs that tell the time: dates, and columns named after a unit of the calendar."""
    columns = [(_tells_time(column), len(column.names)) for column in encoding.columns]
    return np.array([mark for mark, count in columns for _ in range(count)], dtype=bool)


def _tells_time(column: Kind) -> bool:
    entries = column.categories if isinstance(column, Categorical) else ()
    categories = [category for category in entries if category is not None]  # others were erased
    if isinstance(column, Dates) or (categories and all(map(_is_date, categories))):
        return True
    words = [word.lower() for word in re.findall("[A-Z]*[a-z]+|[A-Z]+", column.name)]
    while words and words[-1] in NUMBERING:
        words.pop()
    return bool(words) and words[-1] in CALENDAR and NOT_CALENDAR.isdisjoint(words)


def _is_date(text: str) -> bool:
    return any(format.fullmatch(text) for format in FORMATS.values())


def column_names(encoding: Encoding) -> list[str]:
    """Return a name for each input; the numbers of a text, a list or a hash have that of their column."""
    return [column.name if _is_list(column) else name for column in encoding.columns for name in column.names]


def _is_list(column: Kind) -> bool:
    return isinstance(column, Hashed) or (isinstance(column, Numeric) and column.vector)


def shift_sentences(shifts: Sequence[InputShift]) -> list[str]:
    """Return a sentence for each of the largest shifts, in the order of the stream.

    >>> shift_sentences([])
    ['none: the inputs are of the kind they were']
    >>> change = Change("wind", 2.04, 7.5, 3.21, False)
    >>> shift_sentences([InputShift(400, 8, 3.0, 2.0, (change,))])
    ['after 400 rows: wind from 2.04 to 7.5 (+3.2 deviations)']
    """
    if not shifts:
        return ["none: the inputs are of the kind they were"]
    more = len(shifts) - SHOWN
    sentences = [_sentence(shift) for shift in largest_shifts(shifts, SHOWN)]
    return sentences if more <= 0 else [*sentences, f"and {more} smaller"]


def _sentence(shift: InputShift) -> str:
    least = LEAST_SHARE * abs(shift.changes[0].deviations)
    changes = (change for change in shift.changes if abs(change.deviations) >= least)
    return f"after {counted(shift.row, 'row')}: {'; '.join(map(_said, changes))}"


def _said(change: Change) -> str:
    name = f"the spread of {change.column}" if change.spread else change.column
    if change.before != change.before:
        return f"{name} ({change.deviations:.1f} deviations)"
    ends = " to ".join(f"{value:.3g}" for value in (change.before, change.after))
    return f"{name} from {ends} ({change.deviations:+.1f} deviations)"
