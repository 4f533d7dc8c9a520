"""`qufur ask`: predict on a table and choose which rows to label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show, _state_file
from qufur.cli._flags import reject_options
from qufur.cli._periods import describe_spend, limit_notes, period_status
from qufur.cli._start import StartOptions, prepare_table
from qufur.cli._table_out import check_answered, check_filled_in, check_table, rows_out
from qufur.errors import invalid
from qufur.labelling.tool_files import Tool
from qufur.storage.lock import locked
from qufur.tables import Batch
from qufur.tables.source import Source
from qufur.workbook import Workbook, corrections
from qufur.workbook.workbook import header_of, rows_to_label


@opt.with_groups
def ask(
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Rows to predict: {opt.TABLE}.")],
    state: opt.State,
    out: opt.RowsToLabel,
    options: StartOptions,
    expire: opt.Expire = None,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Ray cluster that encodes the rows, such as ray://head:10001, or local to start one on this "
            "machine. DATA is then Parquet files or their URL.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Encoding tasks with --cluster. Default: chosen by Ray."),
    ] = None,
    gpus: Annotated[float, typer.Option(min=0, metavar="N", help="GPUs per encoding task, for text.")] = 0.0,
    force: opt.Force = False,
    format: opt.TasksFormat = None,
    json: opt.Json = False,
) -> None:
    """Predict all rows of a table and choose which to label.

    The first call creates the state file and sets the budget, the model and the columns. After `qufur learn`
    it sets the budget only. Then fill in the labels in the file --out and pass it to `qufur tell`.

    Example:
      qufur ask rows.csv --target price --budget 300 --state s.qufur -o todo.csv
    """
    oldest = _state_file.since(expire, "qufur ask")
    if cluster is not None:
        from qufur.cli._cluster import ask_on_cluster

        reject_options("qufur ask", "--cluster", {"expire": expire, "sep": sep, "decimal": decimal})
        result = ask_on_cluster(
            data, state, out, options, format, address=cluster, workers=workers, gpus=gpus, force=force
        )
        _print(*result, out, format, json)
        return
    if workers is not None or gpus:
        raise invalid("--workers or --gpus", "qufur ask", "omitted without --cluster", "one of them")
    path = Path(data)
    check_table(out, _state_file.files_of(state) | _state_file.tables_at(path))
    with locked(state):
        existing = _state_file.load_workbook(state) if state.exists() else None
        source = Source(path, sep, decimal, None if existing is None else existing.dialect)
        workbook, total, notes = prepare_table(existing, source, options, quiet=json)
        _state_file.register_tables(workbook, path)
        if oldest is not None:
            if not force:
                check_filled_in(workbook, out)
            expired = corrections.retract(workbook, corrections.asked_before(workbook, oldest))
            if expired:
                retracted = counted(len(expired), "label")
                notes = [f"Retracted {retracted} that did not arrive within {expire}.", *notes]
        if not force:
            check_answered(workbook, out)
        rows = _state_file.read_rows(workbook, source, None if json else "Asking", total=total)
        with _state_file.few_imports(workbook.learner.model):
            n_chosen = _write(workbook, rows, out, format)
        # Saved last: until then the same call writes the same file again.
        _state_file.save_state(workbook, state, f"ask {path.name}", f"{counted(n_chosen, 'row')} to label")
    _print(workbook, rows.count, n_chosen, [*rows.notes, *notes], out, format, json)


def _write(workbook: Workbook, rows: _state_file.TableReader, out: Path, format: Tool | None) -> int:
    """Write the rows to label with the columns that annotators need; return how many."""
    header, columns = columns_to_show(workbook, rows)
    with rows_out(workbook, out, header, format) as write:
        count = 0
        for batch in rows:
            chosen = choose_rows(workbook, batch, header, columns)
            write(chosen)
            count += len(chosen)
        return count


def columns_to_show(workbook: Workbook, rows: _state_file.TableReader) -> tuple[list[str], list[str]]:
    """Return the header of the rows to label, and which of its columns come from the table."""
    return header_of(workbook, [name for name, column in rows.columns.items() if not _is_embedding(column)])


def choose_rows(
    workbook: Workbook, batch: Batch, header: Sequence[str], columns: Sequence[str]
) -> list[list[Any]]:
    """Predict a batch and decide which rows to label; record and return those rows with these columns."""
    answers = workbook.ask(batch)
    indices = answers.query.nonzero()[0].tolist()
    cells = [[batch.columns[name][index] for index in indices] for name in columns]
    chosen = rows_to_label(answers, indices, cells)
    workbook.pending_rows.add(header, chosen)
    return chosen


def _is_embedding(column: Any) -> bool:
    return getattr(column, "ndim", 1) > 1 or isinstance(column[0], list)


def _print(
    workbook: Workbook, rows: int, n_chosen: int, notes: list[str], out: Path, format: Tool | None, json: bool
) -> None:
    learner, notes = workbook.learner, limit_notes(workbook) + notes
    lines = [
        f"{n_chosen} of {counted(rows, 'row')} to label: written to {out}.",
        f"{describe_spend(learner)}.",
        *notes,
    ]
    if n_chosen and format is None:
        lines.append(f"Fill in the column {workbook.target!r} and pass the file to `qufur tell`.")
    elif n_chosen:
        lines.append(f"Pass the export to `qufur tell --format {format}`.")
    counts = {"rows": rows, "wanted": n_chosen, "left": learner.left, "outstanding": len(learner.outstanding)}
    _show.print_result(json, counts | period_status(workbook) | {"notes": notes}, lines)
