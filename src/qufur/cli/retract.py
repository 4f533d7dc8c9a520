"""`qufur retract`: labels that will not come."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.bookkeeping import corrections
from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.expiry import since
from qufur.cli.loop import State, opened
from qufur.cli.options import Json
from qufur.cli.periods import on_refund
from qufur.counts import counted
from qufur.errors import invalid
from qufur.storage.lock import locked


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
    oldest = since(expire, "qufur retract")
    with locked(state):
        book = opened(state)
        late = [] if oldest is None else corrections.asked_before(book, oldest)
        named = book.known(ids or [])
        before = book.learner.left
        gone = corrections.retract(book, [*named, *(id for id in late if id not in named)])
        if gone:
            called = " ".join(["retract", *(ids or []), *([] if expire is None else ["--expire", expire])])
            commit(book, state, called, f"{counted(len(gone), 'label')} given up")
    left, waiting = book.learner.left, len(book.learner.outstanding)
    if json:
        show.print_json({"retracted": len(gone), "left": left, "outstanding": waiting})
        return
    back = "no budget" if left is None else f"{on_refund(book, len(gone), before)}{left} left"
    print(f"{counted(len(gone), 'label')} given up; {back}, {waiting} outstanding.")
