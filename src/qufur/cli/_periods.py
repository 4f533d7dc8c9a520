"""A budget per period on the command line: `--per week 50`, with `--time` for the column of dates."""

from __future__ import annotations

import math
from typing import Any, cast

from qufur._internal.counts import counted
from qufur.arrays import as_count
from qufur.cli._flags import reject_options
from qufur.cli._options import RuleOptions
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.rules import Rule
from qufur.rules.from_budget import promise
from qufur.rules.per_period import UNKNOWN, PeriodSpending, PerPeriod
from qufur.tables import Batch
from qufur.tables.periods import UNITS, PeriodCounts, PeriodSurvey
from qufur.workbook import Workbook

CONFLICTS = "budget", "alpha", "fixed_budget", "at_random", "burst"


def parse_per(value: tuple[str, str], owner: str) -> tuple[str, int]:
    """Parse the value of --per: a unit and its labels.

    >>> parse_per(("week", "50"), "qufur ask")
    ('week', 50)
    """
    unit, labels = value
    if unit not in UNITS:
        raise invalid("--per", owner, "hour, day, week or month, and a number of labels", repr(unit))
    if not labels.isdecimal():
        remedy = f"`--budget {labels}` buys a share of the rows." if "%" in labels or "." in labels else ""
        raise invalid("--per", owner, "a whole number of labels of at least 1", repr(labels), remedy)
    return unit, as_count(int(labels), "--per", owner)


class FirstPeriods:
    """Periods of the first table, and the rule for them.

    Parameters
    ----------
    options
        Options of the rule, with --per.
    target
        The label column, which is not searched for dates.
    """

    def __init__(self, options: RuleOptions, target: str) -> None:
        self.unit, self.labels = parse_per(cast(tuple[str, str], options.per), "qufur ask")
        reject_options("qufur ask", "--per", {name: getattr(options, name) for name in CONFLICTS})
        self._horizon = options.horizon
        self._is_inferred = options.time is None
        self._survey = PeriodSurvey(self.unit, options.time, {target})

    def add(self, batch: Batch) -> None:
        """Count the rows of a batch per period."""
        self._survey.add(batch)

    def rule(self, rows: int) -> Rule:
        """Return the rule, after all batches were added.

        Its horizon is --horizon or the number of rows of the first period; rows of other periods do not
        count.
        """
        rows_of = self._survey.settle()[1].rows
        return PerPeriod(self.labels, self._horizon or rows_of[min(rows_of)])

    def apply(self, workbook: Workbook) -> list[str]:
        """Set the periods of the workbook; return notes."""
        workbook.periods, counts = self._survey.settle()
        notes = _expect(workbook, counts)
        if self._is_inferred:
            column = workbook.periods.column
            notes.insert(0, f"Column {column!r} gives the {self.unit} of a row; --time names another column.")
        return notes


class LaterPeriods:
    """Rows per period of a later table."""

    def __init__(self, workbook: Workbook) -> None:
        self._periods = workbook.periods
        period = UNKNOWN if workbook.periods is None else _spending(workbook).period
        self._counts = PeriodCounts(math.nan if period == UNKNOWN else period)

    def add(self, batch: Batch) -> None:
        """Count the rows of a batch per period."""
        if self._periods is not None:
            self._counts.add(self._periods.of(batch))

    def apply(self, workbook: Workbook) -> list[str]:
        """Pass the number of rows per period to the rule, which paces its labels by it; return notes."""
        return _expect(workbook, self._counts)


def period_status(workbook: Workbook) -> dict[str, Any]:
    """Return the labels bought and left in the current period as JSON fields; empty without periods."""
    if workbook.periods is None:
        return {}
    spending = _spending(workbook)
    counts = {"bought": spending.bought, "allowed": spending.allowed, "left": spending.left}
    return {"period": {"unit": workbook.periods.unit, "begins": workbook.period, **counts}}


def describe_limit(workbook: Workbook) -> str | None:
    """Describe the maximum labels of a share or period and what is left; None for a count."""
    if workbook.periods is None:
        return promise(workbook.learner.rule)
    spending, unit = _spending(workbook), workbook.periods.unit
    limit = f"At most {counted(spending.per_period, 'label')} per {unit}"
    if workbook.period is None:
        return f"{limit}."
    counts = f"{spending.bought} of {spending.allowed} bought, {spending.left} left"
    return f"{limit}; {unit} of {workbook.period}: {counts}."


def limit_notes(workbook: Workbook) -> list[str]:
    """Return the description of the limit as a list of notes, empty for a count."""
    limit = describe_limit(workbook)
    return [] if limit is None else [limit]


def describe_spend(learner: Learner) -> str:
    """Describe the labels bought, left and outstanding."""
    left = "no budget" if learner.left is None else f"{learner.left} left"
    return (
        f"{counted(learner.spent, 'label')} bought in total, {left}, {len(learner.outstanding)} outstanding"
    )


def change_rate(workbook: Workbook, unit: str, labels: int) -> None:
    """Set the labels per period, starting with the next period."""
    if workbook.periods is None:
        allowed = "omitted for a budget that is not per period"
        raise invalid("--per", "qufur budget", allowed, repr(unit), "The first `qufur ask` accepts it.")
    if unit != workbook.periods.unit:
        raise invalid(
            "--per", "qufur budget", f"{workbook.periods.unit}, as with the first table", repr(unit)
        )
    _spending(workbook).per_period = labels


def describe_refund(workbook: Workbook, labels: int, left_before: int | None) -> str:
    """Describe the refund of retracted labels."""
    if not labels:
        return ""
    if workbook.periods is None:
        return "returned to the budget: "
    refunded = (workbook.learner.left or 0) - (left_before or 0)
    return f"{refunded} of them can be bought again this {workbook.periods.unit}: "


def _expect(workbook: Workbook, counts: PeriodCounts) -> list[str]:
    if workbook.periods is None:
        return []
    _spending(workbook).expect(counts.rows)
    if not (counts.late or counts.untimed):
        return []
    late, untimed, unit = counts.late, counts.untimed, workbook.periods.unit
    return [
        f"Rows of an earlier {unit}: {late}; rows without a time: {untimed}. "
        f"They count towards the current {unit}."
    ]


def _spending(workbook: Workbook) -> PeriodSpending:
    return cast(PeriodSpending, workbook.learner.spending)
