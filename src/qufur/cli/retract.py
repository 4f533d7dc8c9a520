"""`qufur retract`: retract pending labels."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._periods import describe_refund
from qufur.cli._state_file import locked_workbook, save_state, since
from qufur.errors import invalid
from qufur.workbook import corrections


def retract(
    state: opt.State,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of the rows to retract.")] = None,
    expire: opt.Expire = None,
    json: opt.Json = False,
) -> None:
    """Retract pending labels that will not arrive.

    The budget is refunded, and the uncertainty of the model rises again. A retracted row is not asked about
    again; `qufur learn` accepts its label if it arrives later.

    Example:
      qufur retract --state s.qufur --expire 30d
    """
    if not ids and expire is None:
        raise invalid("ids", "qufur retract", "given, or --expire", "none")
    oldest = since(expire, "qufur retract")
    with locked_workbook(state) as workbook:
        late = [] if oldest is None else corrections.asked_before(workbook, oldest)
        named = workbook.resolve_ids(ids or [])
        before = workbook.learner.left
        gone = corrections.retract(workbook, [*named, *(id for id in late if id not in named)])
        if gone:
            command = " ".join(["retract", *(ids or []), *([] if expire is None else ["--expire", expire])])
            save_state(workbook, state, command, f"{counted(len(gone), 'label')} retracted")
    left, outstanding = workbook.learner.left, len(workbook.learner.outstanding)
    budget = "no budget" if left is None else f"{describe_refund(workbook, len(gone), before)}{left} left"
    counts = {"retracted": len(gone), "left": left, "outstanding": outstanding}
    text = f"{counted(len(gone), 'label')} retracted; {budget}, {outstanding} outstanding."
    _show.print_result(json, counts, [text])
