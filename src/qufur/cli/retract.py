"""`qufur retract`: labels that will not come."""

from __future__ import annotations

import re
import time
from typing import Annotated

import typer

from qufur.bookkeeping import corrections
from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.loop import State, locked, opened
from qufur.cli.options import Json
from qufur.cli.periods import on_refund
from qufur.errors import invalid

SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


def retract(
    state: State,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Rows to give up on.")] = None,
    expire: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="All rows asked for longer ago than this, such as 30d, 12h or 2w."),
    ] = None,
    json: Json = False,
) -> None:
    """Give up on labels that will not come.

    The budget gets them back, and the model is no longer as sure as if they would come. A row that was given
    up on is not asked about again; `qufur learn` takes its label if it comes all the same.
    """
    if not ids and expire is None:
        raise invalid("ids", "qufur retract", "given, or --expire", "none")
    oldest = None if expire is None else time.time() - _seconds(expire)
    with locked(state):
        book = opened(state)
        late = [] if oldest is None else corrections.asked_before(book, oldest)
        named = book.known(ids or [])
        before = book.learner.left
        gone = corrections.retract(book, [*named, *(id for id in late if id not in named)])
        if gone:
            called = " ".join(["retract", *(ids or []), *([] if expire is None else ["--expire", expire])])
            commit(book, state, called, f"{len(gone)} labels given up")
    left, waiting = book.learner.left, len(book.learner.outstanding)
    if json:
        show.print_json({"retracted": len(gone), "left": left, "outstanding": waiting})
        return
    back = "no budget" if left is None else f"{on_refund(book, len(gone), before)}{left} left"
    print(f"{len(gone)} labels given up; {back}, {waiting} outstanding.")


def _seconds(age: str) -> float:
    """Return how long an age is.

    >>> _seconds("30d"), _seconds("1.5h")
    (2592000.0, 5400.0)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([hdw])", age.strip())
    if found is None:
        raise invalid("--expire", "qufur retract", "hours, days or weeks, such as 12h, 30d or 2w", repr(age))
    return float(found[1]) * SECONDS[found[2]]
