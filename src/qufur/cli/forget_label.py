"""`qufur forget-label`: labels that were wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.bookkeeping.corrections import forget_labels
from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.loop import State, opened
from qufur.cli.options import Json
from qufur.counts import counted
from qufur.storage.lock import locked


def forget_label(
    state: State,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Rows whose label was wrong.")],
    json: Json = False,
) -> None:
    """Take back labels that were wrong, where the right ones are not known.

    All others are learned anew, as if these would never come. They stay paid for, and are not outstanding
    again. `qufur learn` takes the right label if it arrives later; it then counts for the reported error like
    any label that was bought. One that is known goes to `qufur tell --replace`.
    """
    with locked(state):
        book = opened(state)
        gone = forget_labels(book, ids)
        commit(book, state, " ".join(["forget-label", *ids]), f"{counted(len(gone), 'label')} forgotten")
    counts = {"forgotten": len(gone), "labels": len(book.told), "left": book.learner.left}
    if json:
        show.print_json(counts)
        return
    forgotten, kept = counted(len(gone), "label"), counted(len(book.told), "is", "are")
    print(f"{forgotten} forgotten, {kept} left; what was paid for them stays spent.")
