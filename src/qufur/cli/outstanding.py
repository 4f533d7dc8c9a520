"""`qufur outstanding`: rows with pending labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._state_file import files_of, load_workbook
from qufur.cli._table_out import check_filled_in, check_table, rows_out
from qufur.ids import Id
from qufur.workbook import Workbook
from qufur.workbook.pending_rows import by_column
from qufur.workbook.workbook import header_of


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
    header, _ = header_of(workbook, [])
    columns = workbook.pending_rows.columns or header
    with rows_out(workbook, out, columns, format) as write:
        write(by_column(_cells(workbook, id, header), columns) for id in pending)
    queries = workbook.learner.pending.values()
    times = [query.asked_at // 1_000_000 for query in queries if query.asked_at is not None]
    lines = [f"{counted(len(pending), 'label is', 'labels are')} outstanding: written to {out}."]
    if len(times) < len(pending):
        unknown = len(pending) - len(times)
        lines.append(f"{unknown} were asked for by an older version, without their columns.")
    _show.print_result(json, {"rows": len(pending), "oldest": min(times, default=None)}, lines)


def _cells(workbook: Workbook, id: Id, header: Sequence[str]) -> Mapping[str, Any]:
    """Return the cells of a row; id, prediction and empty label if an older version asked about it."""
    prediction = f"{workbook.learner.pending[id].prediction:.6g}"
    return workbook.pending_rows.cells(id) or dict(zip(header, (id, prediction, ""), strict=True))
