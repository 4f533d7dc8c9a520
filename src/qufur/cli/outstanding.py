"""`qufur outstanding`: the rows whose labels are awaited, once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.exchange import TasksFormat, rows_out
from qufur.cli.loop import State, files_of, opened
from qufur.cli.options import Json
from qufur.cli.outputs import check_filled_in, check_table
from qufur.counts import counted
from qufur.models.base import Id
from qufur.tables.waiting import by_column
from qufur.tables.written import free, heading
from qufur.workbook import Workbook


def outstanding(
    state: State,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="CSV of the rows to label.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace --out even if it has labels that are yet to be told.")
    ] = False,
    format: TasksFormat = None,
    json: Json = False,
) -> None:
    """Write the rows whose labels are awaited, with the columns that `qufur ask` wrote."""
    check_table(out, files_of(state))
    book = opened(state)
    if not force:
        check_filled_in(book, out)
    waiting = book.learner.outstanding
    rows = {id: book.waiting.cells(id) or _without_columns(book, id) for id in waiting}
    columns = book.waiting.columns or [heading(book.id_column), *_own_columns(book)]
    with rows_out(book, out, columns, format) as write:
        write(by_column(row, columns) for row in rows.values())
    known = [at for at in map(book.waiting.asked_at, waiting) if at is not None]
    if json:
        show.print_json({"rows": len(waiting), "oldest": min(known, default=None)})
        return
    print(f"{counted(len(waiting), 'label is', 'labels are')} outstanding: written to {out}.")
    if len(known) < len(waiting):
        print(f"{len(waiting) - len(known)} were asked for before rows were kept: without their columns.")


def _own_columns(book: Workbook) -> tuple[str, str]:
    """Return what the columns of predictions and labels are called, as `ask` calls them."""
    id, target = heading(book.id_column), heading(book.target)
    return free("prediction", {id, target}), target


def _without_columns(book: Workbook, id: Id) -> dict[str, Any]:
    """Return what is known of a row that an earlier version asked about."""
    prediction, target = _own_columns(book)
    said = f"{book.learner.queries[id].prediction:.6g}"
    return {heading(book.id_column): id, prediction: said, target: ""}
