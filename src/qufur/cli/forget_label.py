"""`qufur forget-label`: remove wrong labels."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._state_file import locked_workbook, save_state
from qufur.workbook.corrections import forget_labels


def forget_label(
    state: opt.State,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of the rows with wrong labels.")],
    json: opt.Json = False,
) -> None:
    """Remove wrong labels whose correct values are unknown.

    The model is retrained without them. They stay charged to the budget and are not asked for again. If the
    correct label arrives later, `qufur learn` accepts it and uses it in the reported error like any bought
    label. If it is known now, use `qufur tell --replace`.

    Example:
      qufur forget-label 17 42 --state s.qufur
    """
    with locked_workbook(state) as workbook:
        gone = forget_labels(workbook, ids)
        forgotten = f"{counted(len(gone), 'label')} forgotten"
        save_state(workbook, state, " ".join(["forget-label", *ids]), forgotten)
    counts = {"forgotten": len(gone), "labels": len(workbook.labels), "left": workbook.learner.left}
    remaining = counted(len(workbook.labels), "remains", "remain")
    _show.print_result(json, counts, [f"{forgotten}, {remaining}. The budget is not refunded."])
