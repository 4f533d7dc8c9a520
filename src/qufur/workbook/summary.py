"""Status text of a workbook: labels spent, error, shifts by column, and next steps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from qufur._internal.counts import counted
from qufur.arrays import Bools
from qufur.estimates.headline import CONFIDENCE, Headline
from qufur.estimates.input_shifts import Change, InputShift, input_shifts, largest_shifts, only_advances
from qufur.estimates.report import Report
from qufur.estimates.timeline import error_at_random
from qufur.models.ensemble.report import EnsembleReport
from qufur.tables import Encoding
from qufur.tables.categorical import Categorical, Hashed
from qufur.tables.columns import Kind, Numeric
from qufur.tables.dates import FORMATS, Dates
from qufur.workbook.workbook import Workbook

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
"""Words that may follow the last word of a calendar column: `week_number`."""
NOT_CALENDAR = {"by", "each", "every", "last", "next", "past", "per", "prev", "previous"}
"""Words that turn the name of a calendar column into that of another quantity: `sales_per_month`."""


def shifts_of(workbook: Workbook) -> list[InputShift]:
    """Return where the inputs have shifted, in the order of the stream. Calendar columns raise no alarm."""
    inputs = workbook.monitor.inputs
    ignored = is_calendar(workbook.encoding)
    if inputs.anchor is not None:
        ignored = ignored | only_advances(inputs)
    return input_shifts(inputs, column_names(workbook.encoding), ignored)


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
    ['none detected: the inputs look like earlier ones']
    >>> change = Change("wind", 2.04, 7.5, 3.21, False)
    >>> shift_sentences([InputShift(400, 8, 3.0, 2.0, (change,))])
    ['after 400 rows: wind from 2.04 to 7.5 (+3.2 deviations)']
    """
    if not shifts:
        return ["none detected: the inputs look like earlier ones"]
    more = len(shifts) - SHOWN
    sentences = [_sentence(shift) for shift in largest_shifts(shifts, SHOWN)]
    return sentences if more <= 0 else [*sentences, f"and {more} smaller"]


def _sentence(shift: InputShift) -> str:
    smallest = LEAST_SHARE * abs(shift.changes[0].deviations)
    changes = (change for change in shift.changes if abs(change.deviations) >= smallest)
    return f"after {counted(shift.row, 'row')}: {'; '.join(map(_describe_change, changes))}"


def _describe_change(change: Change) -> str:
    name = f"the spread of {change.column}" if change.spread else change.column
    if math.isnan(change.before):
        return f"{name} ({change.deviations:.1f} deviations)"
    ends = " to ".join(f"{value:.3g}" for value in (change.before, change.after))
    return f"{name} from {ends} ({change.deviations:+.1f} deviations)"


FEW = 10
"""With fewer labels since a shift, the model has hardly learned the new inputs."""
NEARLY_ALL = 0.95
"""Share of covered rows from which the headline error counts as that of all rows."""


class Advice(NamedTuple):
    """Wording of the next steps, which differs between command line and service.

    Attributes
    ----------
    waiting
        Next step for pending rows.
    constant
        Next step if a constant prediction is better.
    at_random
        Next step if random labels would do better.
    spent, go_on
        Next step when the budget is spent, and when nothing is pending.
    """

    waiting: str
    constant: str
    at_random: str
    spent: str
    go_on: str


def summary(
    workbook: Workbook, report: Report, shifts: Sequence[InputShift], advice: Advice
) -> dict[str, list[str]]:
    """Return the status sentences by heading."""
    return {
        "spent": [_spent(workbook, report)],
        "error": list(_error(report)),
        "shifts": shift_sentences(shifts),
        "next": list(_next(workbook, report, shifts, advice)),
    }


def _spent(workbook: Workbook, report: Report) -> str:
    limit = workbook.learner.rule.limit
    left = "" if report.left is None else f", {report.left} left"
    percent = float(f"{100 * report.labels / report.examples:.2g}") if report.examples else 0.0
    share = f" ({percent:g} %)" if report.examples else ""
    pending = f"; {report.outstanding} outstanding" if report.outstanding else ""
    rows = counted(report.examples, "row")
    labels = (
        counted(report.labels, "label") if limit is None else f"{report.labels} of {counted(limit, 'label')}"
    )
    return f"{labels} on {rows}{share}{left}{pending}"


def _error(report: Report) -> Iterator[str]:
    headline, ensemble = report.headline, report.ensemble_report
    if headline.error is None:
        yield "not known yet: it needs labels of rows that were predicted after the first labels"
        return
    measure = "root mean squared error" if report.squared else "share of wrong classes"
    yield f"{_number(headline.error)}, the {measure} of all predictions so far{_between(headline)}"
    if headline.covered < NEARLY_ALL:
        excluded = f"{100 * (1 - headline.covered):.2g} % of the rows"
        yield f"the estimate excludes {excluded}, which had query probability 0"
    if ensemble is not None and ensemble.labels:
        yield _against_random(headline, ensemble)
        constant = ensemble.best_constant
        if constant is not None:
            yield f"a constant prediction would have {_number(ensemble.in_units(ensemble.losses[constant]))}"


def _between(headline: Headline) -> str:
    if headline.low is None or headline.high is None:
        return ""
    ends = f"{_number(headline.low)} and {_number(headline.high)}"
    return f"; it is between {ends} with {100 * CONFIDENCE:g} % confidence"


def _against_random(headline: Headline, ensemble: EnsembleReport) -> str:
    comparison, error = ensemble.random_labels, error_at_random(headline, ensemble)
    if comparison is None or error is None or headline.error is None:
        return "whether random labels would do as well is not known yet"
    side = "higher" if comparison.ratio > 1 else "lower"
    low, high = sorted(abs(ensemble.in_units(end) - 1) for end in (comparison.low, comparison.high))
    return (
        f"random labels would have about {_number(error)}, {100 * low:.0f} to {100 * high:.0f} % {side}, "
        "estimated with one model trained on both"
    )


def _next(workbook: Workbook, report: Report, shifts: Sequence[InputShift], advice: Advice) -> Iterator[str]:
    ensemble = report.ensemble_report
    if report.outstanding:
        yield f"label the {counted(report.outstanding, 'outstanding row')} {advice.waiting}"
    new = _labels_since(workbook, shifts)
    if new is not None and new < FEW:
        bought = counted(new, "label was", "labels were")
        yield f"the inputs shifted, and {bought} bought since: expect larger errors until more labels arrive"
    if ensemble is not None and ensemble.is_worse_than(ensemble.best_constant):
        yield f"a constant prediction is better: start over with more informative inputs, {advice.constant}"
    elif ensemble is not None and ensemble.random_would_do:
        yield f"random labels would do better: {advice.at_random}"
    if report.left == 0 and workbook.learner.rule.limit is not None:
        yield f"the budget is spent: {advice.spent}"
    elif not report.outstanding:
        yield f"continue: {advice.go_on}"


def _labels_since(workbook: Workbook, shifts: Sequence[InputShift]) -> int | None:
    """Return the number of labels bought since the last shift; None without a shift."""
    if not shifts:
        return None
    last = max(shift.row for shift in shifts)
    rows, labels = workbook.monitor.timeline.spending()
    before = max((count for row, count in zip(rows, labels, strict=True) if row <= last), default=0)
    return labels[-1] - before


def _number(value: float) -> str:
    return f"{float(f'{value:.3g}'):g}"
