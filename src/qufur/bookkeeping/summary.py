"""What somebody who pays for labels wants to know: spent, error, shifts, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from qufur.bookkeeping.shifts import shift_sentences
from qufur.estimates.input_shifts import InputShift
from qufur.estimates.report import Report
from qufur.models.diagnostics.standing import ERRORS, Standing
from qufur.workbook import Workbook

FEW = 10
"""Labels since a shift that are too few to know what is new."""


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
    labels = (
        counted(report.labels, "label") if limit is None else f"{report.labels} of {counted(limit, 'label')}"
    )
    left = "" if report.left is None else f", {report.left} left"
    percent = float(f"{100 * report.labels / report.examples:.2g}") if report.examples else 0.0
    share = f" ({percent:g} %)" if report.examples else ""
    verb = "is" if report.outstanding == 1 else "are"
    waiting = f"; {report.outstanding} {verb} still to come" if report.outstanding else ""
    return f"{labels} on {counted(report.examples, 'row')}{share}{left}{waiting}"


def _error(report: Report) -> Iterator[str]:
    standing = report.standing
    if standing is not None and standing.labels:
        what = "root mean squared error" if standing.squared else "share of wrong classes"
        yield f"{_number(standing.in_units(standing.loss))}, the {what} of predictions since labels came"
        yield _against_random(standing)
        constant = standing.best_constant
        if constant is not None:
            yield f"a constant would have {_number(standing.in_units(standing.losses[constant]))}"
    elif math.isnan(report.loss):
        yield "not known yet: it takes labels of rows that were asked about after others came"
    else:
        root = report.fit is not None
        low, value, high = (
            math.sqrt(loss) if root else loss
            for loss in (report.interval[0], report.loss, report.interval[1])
        )
        yield f"{_number(value)} so far, surely between {_number(low)} and {_number(high)}"


def _against_random(standing: Standing) -> str:
    if standing.all_at_random is None:
        return "too few labels came to compare with labels at random"
    loss = max(standing.all_at_random.loss, 0.0)
    # Of one expert: the lead has in it what many of them do together, which labels at random would have too.
    about = f"one model on labels at random would have about {_number(standing.in_units(loss))}"
    if abs(standing.loss - loss) <= ERRORS * standing.all_at_random.lead_error or not loss:
        return f"{about}, no clear difference"
    share = standing.in_units(standing.loss) / standing.in_units(loss) - 1
    return f"{about}: it is {100 * abs(share):.0f} % {'lower' if share < 0 else 'higher'}"


def _next(book: Workbook, report: Report, shifts: Sequence[InputShift], advice: Advice) -> Iterator[str]:
    standing = report.standing
    if report.outstanding:
        waiting = "row that waits" if report.outstanding == 1 else f"{report.outstanding} rows that wait"
        yield f"label the {waiting} {advice.waiting}"
    new = _labels_since(book, shifts)
    if new is not None and new < FEW:
        bought = f"{counted(new, 'label')} {'was' if new == 1 else 'were'} bought since"
        yield f"the inputs shifted, and {bought}: expect larger errors until more come"
    if standing is not None and standing.is_worse_than(standing.best_constant):
        yield f"a constant does better: start anew with inputs that say more, {advice.constant}"
    elif standing is not None and standing.random_would_do:
        yield f"labels at random would do as well: {advice.at_random}"
    if report.left == 0 and book.learner.rule.limit is not None:
        yield f"the budget is spent: {advice.spent}"
    elif not report.outstanding:
        yield f"go on: {advice.go_on}"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


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
