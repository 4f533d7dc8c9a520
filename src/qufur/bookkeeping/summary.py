"""What somebody who pays for labels wants to know: spent, error, shifts, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from qufur.bookkeeping.shifts import shift_sentences
from qufur.counts import counted
from qufur.estimates.course import error_at_random
from qufur.estimates.headline import CONFIDENCE, Headline
from qufur.estimates.input_shifts import InputShift
from qufur.estimates.report import Report
from qufur.models.diagnostics.standing import Standing
from qufur.workbook import Workbook

FEW = 10
"""Labels since a shift that are too few to know what is new."""
NEARLY_ALL = 0.95
"""Share of rows from which on the headline error is said to be about all of them."""


class Advice(NamedTuple):
    """How one does there what is to be done next.

    Attributes
    ----------
    waiting
        What to do with rows that wait for labels.
    constant
        What to do if a constant does better.
    at_random
        What to do if labels at random would do as well.
    spent, go_on
        What to do when the budget is spent, and when there is nothing to do.
    """

    waiting: str = "and give them to `qufur tell`; `qufur outstanding --out FILE` writes them again"
    constant: str = "a larger `qufur ask --budget`, or a further model with `qufur ask --also`"
    at_random: str = "start the next work with `qufur ask --at-random`"
    spent: str = "`qufur budget --add LABELS` buys more, `qufur predict` needs none"
    go_on: str = "`qufur ask` takes the next table, `qufur predict` predicts"


COMMANDS = Advice()
"""Of who works with the commands."""


def summary(
    book: Workbook, report: Report, shifts: Sequence[InputShift], advice: Advice = COMMANDS
) -> dict[str, list[str]]:
    """Return sentences under each heading."""
    return {
        "spent": [_spent(book, report)],
        "error": list(_error(report)),
        "shifts": shift_sentences(shifts),
        "next": list(_next(book, report, shifts, advice)),
    }


def _spent(book: Workbook, report: Report) -> str:
    limit = book.learner.rule.limit
    left = "" if report.left is None else f", {report.left} left"
    percent = float(f"{100 * report.labels / report.examples:.2g}") if report.examples else 0.0
    share = f" ({percent:g} %)" if report.examples else ""
    waiting = f"; {counted(report.outstanding, 'is', 'are')} still to come" if report.outstanding else ""
    rows = counted(report.examples, "row")
    labels = (
        counted(report.labels, "label") if limit is None else f"{report.labels} of {counted(limit, 'label')}"
    )
    return f"{labels} on {rows}{share}{left}{waiting}"


def _error(report: Report) -> Iterator[str]:
    headline, standing = report.headline, report.standing
    if headline.error is None:
        yield "not known yet: it takes labels of rows that were predicted after the first labels"
        return
    what = "root mean squared error" if report.squared else "share of wrong classes"
    yield f"{_number(headline.error)}, the {what} of all predictions so far{_between(headline)}"
    if headline.covered < NEARLY_ALL:
        rest = f"{100 * (1 - headline.covered):.2g} % of the rows"
        yield f"it leaves out {rest}, which had no chance of a label"
    if standing is not None and standing.labels:
        yield _against_random(headline, standing)
        constant = standing.best_constant
        if constant is not None:
            yield f"a constant would have {_number(standing.in_units(standing.losses[constant]))}"


def _between(headline: Headline) -> str:
    if headline.low is None or headline.high is None:
        return ""
    ends = f"{_number(headline.low)} and {_number(headline.high)}"
    return f"; it is between {ends} with {100 * CONFIDENCE:g} % confidence"


def _against_random(headline: Headline, standing: Standing) -> str:
    found, error = standing.random_labels, error_at_random(headline, standing)
    if found is None or error is None or headline.error is None:
        return "whether random labels would do as well is not known yet"
    side = "higher" if found.ratio > 1 else "lower"
    low, high = sorted(abs(standing.in_units(end) - 1) for end in (found.low, found.high))
    return (
        f"random labels would have about {_number(error)}, {100 * low:.0f} to {100 * high:.0f} % {side}, "
        "by one model that learns from both"
    )


def _next(book: Workbook, report: Report, shifts: Sequence[InputShift], advice: Advice) -> Iterator[str]:
    standing = report.standing
    if report.outstanding:
        rows = "the row that waits" if report.outstanding == 1 else f"the {report.outstanding} rows that wait"
        yield f"label {rows} {advice.waiting}"
    new = _labels_since(book, shifts)
    if new is not None and new < FEW:
        bought = counted(new, "label was", "labels were")
        yield f"the inputs shifted, and {bought} bought since: expect larger errors until more come"
    if standing is not None and standing.is_worse_than(standing.best_constant):
        yield f"a constant does better: start anew with inputs that say more, {advice.constant}"
    elif standing is not None and standing.random_would_do:
        yield f"random labels would do better: {advice.at_random}"
    if report.left == 0 and book.learner.rule.limit is not None:
        yield f"the budget is spent: {advice.spent}"
    elif not report.outstanding:
        yield f"go on: {advice.go_on}"


def _labels_since(book: Workbook, shifts: Sequence[InputShift]) -> int | None:
    """Return how many labels were bought since the last shift; None if there was none."""
    if not shifts:
        return None
    last = max(shift.row for shift in shifts)
    rows, labels = book.watch.course.spending()
    before = max((many for row, many in zip(rows, labels, strict=True) if row <= last), default=0)
    return labels[-1] - before


def _number(value: float) -> str:
    return f"{float(f'{value:.3g}'):g}"
