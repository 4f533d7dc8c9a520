"""`qufur budget`: show or increase the budget."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._periods import change_rate, describe_limit, limit_notes, parse_per, period_status
from qufur.cli._state_file import load_workbook, locked_workbook, save_state
from qufur.errors import invalid
from qufur.rules.from_budget import promise
from qufur.workbook import Workbook


def budget(
    state: opt.State,
    add: Annotated[
        int | None, typer.Option(min=1, metavar="LABELS", help="Labels to add to the budget.")
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="ROWS",
            help="Future rows that the remaining budget is for, with --add. Default: the rest of the horizon "
            "or, after its end, the number of rows that keeps the rate.",
        ),
    ] = None,
    per: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="PERIOD LABELS", help="Labels per period, starting with the next period."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Show the remaining budget, or increase it.

    Past purchases and decisions do not change. A share cannot be increased: it grows with the rows. With a
    budget per period, --add is for the current period.

    Example:
      qufur budget --state s.qufur --add 100
    """
    if horizon is not None and add is None:
        raise invalid("--horizon", "qufur budget", "omitted without --add", horizon)
    if per is not None and add is not None:
        raise invalid("--per", "qufur budget", "omitted with --add", repr(per[0]))
    rate = None if per is None else parse_per(per, "qufur budget")
    if add is None and rate is None:
        _print(load_workbook(state), json)
        return
    with locked_workbook(state) as workbook:
        if rate is not None:
            change_rate(workbook, *rate)
        if add is not None:
            _add(workbook, add, horizon)
        option = f"--add {add}" if rate is None else f"--per {rate[0]} {rate[1]}"
        left = counted(workbook.learner.left or 0, "label")
        save_state(workbook, state, f"budget {option}", f"{left} left")
    _print(workbook, json)


def _add(workbook: Workbook, labels: int, horizon: int | None) -> None:
    rule = workbook.learner.rule
    if rule.limit is None and workbook.periods is None:
        allowed = "omitted unless the budget is a number of labels"
        remedy = (promise(rule) or "") if workbook.has_rule else "The first `qufur ask` sets --budget."
        raise invalid("--add", "qufur budget", allowed, labels, remedy)
    if horizon is not None and not hasattr(workbook.learner.spending, "horizon"):
        allowed = f"omitted with the rule {type(rule).__name__}, which has no horizon"
        raise invalid("--horizon", "qufur budget", allowed, horizon)
    workbook.learner.add_budget(labels, horizon)


def _print(workbook: Workbook, json: bool) -> None:
    learner, limit = workbook.learner, workbook.learner.rule.limit
    horizon = getattr(learner.spending, "horizon", None)
    rows = None if horizon is None else max(0, horizon - learner.spending.position)
    counts = {"budget": limit, "bought": learner.spent, "left": learner.left, "rows_to_come": rows}
    bought = (
        counted(learner.spent, "label") if limit is None else f"{learner.spent} of {counted(limit, 'label')}"
    )
    left = "no budget" if learner.left is None else f"{learner.left} left"
    remaining = "" if rows is None else f" for {counted(rows, 'future row')}"
    _show.print_result(
        json,
        counts | {"promise": describe_limit(workbook)} | period_status(workbook),
        [f"{bought} bought, {left}{remaining}.", *limit_notes(workbook)],
    )
