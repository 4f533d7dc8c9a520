"""A budget per period on the command line: `--per week 50`, with `--time` for the column of dates."""

from __future__ import annotations

import math
from typing import Any, cast

from qufur.arrays import as_count
from qufur.counts import counted
from qufur.errors import invalid
from qufur.rules import Rule
from qufur.rules.from_budget import promise
from qufur.rules.per_period import PerPeriod
from qufur.rules.period_spending import UNKNOWN, PeriodSpending
from qufur.tables import Batch
from qufur.tables.period_survey import PeriodSurvey
from qufur.tables.periods import UNITS, PeriodCounts
from qufur.workbook import Workbook

OTHERS = "--budget", "--alpha", "--fixed-budget", "--at-random", "--burst"


def as_per(said: tuple[str, str], owner: str) -> tuple[str, int]:
    """Return the period and its labels.

    >>> as_per(("week", "50"), "qufur ask")
    ('week', 50)
    """
    unit, labels = said
    if unit not in UNITS:
        raise invalid("--per", owner, "hour, day, week or month, and a number of labels", repr(unit))
    if not labels.isdecimal():
        remedy = f"`--budget {labels}` buys a share of the rows." if "%" in labels or "." in labels else ""
        raise invalid("--per", owner, "a whole number of labels of at least 1", repr(labels), remedy)
    return unit, as_count(int(labels), "--per", owner)


class FirstPeriods:
    """What is said of periods with the first table, and what it says itself.

    Parameters
    ----------
    said
        The options by name, None where one was not given.
    target
        The column of labels, which has no dates.
    """

    def __init__(self, said: dict[str, Any], target: str) -> None:
        self.unit, self.labels = as_per(said["--per"], "qufur ask")
        for name in OTHERS:
            if said[name] is not None:
                raise invalid(name, "qufur ask", "left out with --per", said[name])
        self._rows, self._found = said["--horizon"], said["--time"] is None
        self._survey = PeriodSurvey(self.unit, said["--time"], {target})

    def add(self, batch: Batch) -> None:
        """Look at a batch of the table."""
        self._survey.add(batch)

    def rule(self, rows: int) -> Rule:
        """Return the rule, once all batches were looked at; rows of other periods do not count."""
        rows_of = self._survey.settle()[1].rows
        return PerPeriod(self.labels, self._rows or rows_of[min(rows_of)])

    def settle(self, book: Workbook) -> list[str]:
        """Let the work go by periods; return what to say."""
        book.periods, counts = self._survey.settle()
        by = f"Column {book.periods.column!r} says which {self.unit} a row is of"
        return [*([f"{by}; --time names another."] if self._found else []), *_expect(book, counts)]


def first_periods(said: dict[str, Any], target: str) -> FirstPeriods | None:
    """Return what is said of periods with the first table, or None if the budget is none per period."""
    if said["--per"] is not None:
        return FirstPeriods(said, target)
    if said["--time"] is not None:
        raise invalid("--time", "qufur ask", "left out without --per", repr(said["--time"]))
    return None


class LaterPeriods:
    """How many rows of each period a later table has, as far as that matters."""

    def __init__(self, book: Workbook) -> None:
        self._periods, self._counts = book.periods, None
        if book.periods is not None:
            period = _spending(book).period
            self._counts = PeriodCounts(math.nan if period == UNKNOWN else period)

    def add(self, batch: Batch) -> None:
        """Look at a batch of the table."""
        if self._periods is not None and self._counts is not None:
            self._counts.add(self._periods.of(batch))

    def settle(self, book: Workbook) -> list[str]:
        """Let labels be bought at a pace for these rows; return what to say of them."""
        return [] if self._counts is None else _expect(book, self._counts)


def standing(book: Workbook) -> dict[str, Any]:
    """Return what is bought and left in the running period; nothing if labels are not bought per period."""
    if book.periods is None:
        return {}
    spending = _spending(book)
    counts = {"bought": spending.bought, "allowed": spending.allowed, "left": spending.left}
    return {"period": {"unit": book.periods.unit, "begins": book.period, **counts}}


def promised(book: Workbook) -> str | None:
    """Say how many labels a share buys at most, or a period, and what is left of it; None for counts."""
    if book.periods is None:
        return promise(book.learner.rule)
    spending, unit = _spending(book), book.periods.unit
    labels = counted(spending.per_period, "label is", "labels are")
    most = f"At most {labels} bought in a{'n' * (unit == 'hour')} {unit}"
    if book.period is None:
        return f"{most}."
    counts = f"{spending.bought} of {spending.allowed}, {spending.left} left"
    return f"{most}; in that of {book.period} it was {counts}."


def change_rate(book: Workbook, unit: str, labels: int) -> None:
    """Let so many labels be bought per period, from the next one on."""
    if book.periods is None:
        allowed = "left out where labels are not bought per period"
        raise invalid("--per", "qufur budget", allowed, repr(unit), "The first `qufur ask` takes it.")
    if unit != book.periods.unit:
        raise invalid("--per", "qufur budget", f"{book.periods.unit}, as with the first table", repr(unit))
    _spending(book).per_period = labels


def on_refund(book: Workbook, labels: int, left_before: int | None) -> str:
    """Say what became of labels that were given up."""
    if not labels:
        return ""
    if book.periods is None:
        return "the budget has them back: "
    again = (book.learner.left or 0) - (left_before or 0)
    return f"{again} of them can be bought again in this {book.periods.unit}: "


def _expect(book: Workbook, counts: PeriodCounts) -> list[str]:
    _spending(book).expect(counts.rows)
    if book.periods is None or not (counts.late or counts.untimed):
        return []
    late, untimed, unit = counts.late, counts.untimed, book.periods.unit
    odd = f"Rows of a{'n' * (unit == 'hour')} {unit} before: {late}, rows without a time: {untimed}"
    return [f"{odd}. They count for the {unit} that runs."]


def _spending(book: Workbook) -> PeriodSpending:
    return cast(PeriodSpending, book.learner.spending)
