"""`qufur budget`: what labels may still be bought, and more of them."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.loop import State, opened
from qufur.cli.options import Json
from qufur.cli.periods import as_per, change_rate, promised, standing
from qufur.counts import counted
from qufur.errors import invalid
from qufur.rules.from_budget import promise
from qufur.storage.lock import locked
from qufur.workbook import Workbook


def budget(
    state: State,
    add: Annotated[
        int | None, typer.Option(min=1, metavar="LABELS", help="Labels that may be bought besides.")
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="ROWS",
            help="With --add: rows from now on that what is left is for; by default those that were still to "
            "come, or if all came as many as keep the pace.",
        ),
    ] = None,
    per: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="PERIOD LABELS", help="Labels per period, from the next one on."),
    ] = None,
    json: Json = False,
) -> None:
    """Show what may still be bought, and add to it.

    What was bought and decided stays. A share cannot be added to: it grows with the rows. With a budget per
    period, what is added is for the running one.
    """
    if horizon is not None and add is None:
        raise invalid("--horizon", "qufur budget", "left out without --add", horizon)
    if per is not None and add is not None:
        raise invalid("--per", "qufur budget", "left out with --add", repr(per[0]))
    rate = None if per is None else as_per(per, "qufur budget")
    if add is None and rate is None:
        _print(opened(state), json)
        return
    with locked(state):
        book = opened(state)
        if rate is not None:
            change_rate(book, *rate)
        if add is not None:
            _add(book, add, horizon)
        said = f"--add {add}" if rate is None else f"--per {rate[0]} {rate[1]}"
        commit(book, state, f"budget {said}", f"{counted(book.learner.left or 0, 'label')} left")
    _print(book, json)


def _add(book: Workbook, labels: int, horizon: int | None) -> None:
    rule = book.learner.rule
    if rule.limit is None and book.periods is None:
        allowed, remedy = "left out where no count of labels is the budget", promise(rule) or ""
        remedy = remedy if book.has_rule else "The first `qufur ask` takes --budget."
        raise invalid("--add", "qufur budget", allowed, labels, remedy)
    if horizon is not None and not hasattr(book.learner.spending, "horizon"):
        allowed = f"left out with the rule {type(rule).__name__}, which knows none"
        raise invalid("--horizon", "qufur budget", allowed, horizon)
    book.learner.add_budget(labels, horizon)


def _print(book: Workbook, json: bool) -> None:
    learner = book.learner
    rows = _rows_to_come(book)
    if json:
        counts = {"budget": learner.rule.limit, "bought": learner.spent, "left": learner.left}
        show.print_json(counts | {"rows_to_come": rows, "promise": promised(book)} | standing(book))
        return
    limit = learner.rule.limit
    bought = (
        counted(learner.spent, "label") if limit is None else f"{learner.spent} of {counted(limit, 'label')}"
    )
    left = "no budget" if learner.left is None else f"{learner.left} left"
    to_come = "" if rows is None else f" for {counted(rows, 'row')} to come"
    print(f"{bought} bought, {left}{to_come}.")
    said = promised(book)
    if said:
        print(said)


def _rows_to_come(book: Workbook) -> int | None:
    """Return how many rows of the horizon are still to come, where there is one."""
    spending = book.learner.spending
    horizon = getattr(spending, "horizon", None)
    return None if horizon is None else max(0, horizon - spending.place)
