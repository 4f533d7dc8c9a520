"""`qufur outstanding`: rows with pending labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._state_file import files_of, load_workbook
from qufur.cli._table_out import check_filled_in, check_table, rows_out
from qufur.ids import Id
from qufur.tables.writers import column_heading, unused_name
from qufur.workbook import Workbook
from qufur.workbook.pending_rows import by_column


def outstanding(
    state: opt.State,
    out: opt.RowsToLabel,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Replace --out even if it has labels that were not given to `qufur tell`."
        ),
    ] = False,
    format: opt.TasksFormat = None,
    json: opt.Json = False,
) -> None:
    """Write the rows with pending labels to a file.

    The columns are those that `qufur ask` wrote.

    Example:
      qufur outstanding --state s.qufur -o todo.csv
    """
    check_table(out, files_of(state))
    workbook = load_workbook(state)
    if not force:
        check_filled_in(workbook, out)
    pending = workbook.learner.outstanding
    rows = {id: workbook.pending_rows.cells(id) or _without_columns(workbook, id) for id in pending}
    columns = workbook.pending_rows.columns or [
        column_heading(workbook.id_column),
        *_prediction_and_label(workbook),
    ]
    with rows_out(workbook, out, columns, format) as write:
        write(by_column(row, columns) for row in rows.values())
    times = [at for at in map(workbook.pending_rows.asked_at, pending) if at is not None]
    lines = [f"{counted(len(pending), 'label is', 'labels are')} outstanding: written to {out}."]
    if len(times) < len(pending):
        unknown = len(pending) - len(times)
        lines.append(f"{unknown} were asked for by an older version, without their columns.")
    _show.print_result(json, {"rows": len(pending), "oldest": min(times, default=None)}, lines)


def _prediction_and_label(workbook: Workbook) -> tuple[str, str]:
    """Return the headings of the prediction and label columns, as in the output of `ask`."""
    id, target = column_heading(workbook.id_column), column_heading(workbook.target)
    return unused_name("prediction", {id, target}), target


def _without_columns(workbook: Workbook, id: Id) -> dict[str, Any]:
    """Return id, prediction and an empty label for a row that an older version asked about."""
    prediction, target = _prediction_and_label(workbook)
    value = f"{workbook.learner.pending[id].prediction:.6g}"
    return {column_heading(workbook.id_column): id, prediction: value, target: ""}
