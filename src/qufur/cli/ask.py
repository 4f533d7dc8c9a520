"""`qufur ask`: predict on a table and choose which rows to label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._columns import Columns, grow
from qufur.cli._flags import reject_options
from qufur.cli._options import ModelOptions, RuleOptions
from qufur.cli._periods import FirstPeriods, LaterPeriods, describe_limit, period_status, periods_from_options
from qufur.cli._start import (
    StartedWorkbook,
    StartOptions,
    check_start_options,
    check_target,
    name_of,
    rule_from_options,
    start_workbook,
)
from qufur.cli._state_file import (
    TableReader,
    digest_of,
    few_imports,
    files_of,
    keep_dialect,
    save_state,
    since,
    tables_at,
    without_pandas,
)
from qufur.cli._table_out import check_answered, check_filled_in, check_table, rows_out
from qufur.errors import invalid
from qufur.labelling.tool_files import Tool
from qufur.rules import Rule
from qufur.storage.lock import locked
from qufur.tables import Batch
from qufur.tables.source import Source
from qufur.workbook import Workbook, corrections
from qufur.workbook.classes import choose_rule
from qufur.workbook.workbook import header_of, rows_to_label


def ask(
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Rows to predict: {opt.TABLE}.")],
    state: opt.State,
    out: opt.RowsToLabel,
    budget: opt.FirstBudget = None,
    per: opt.FirstPer = None,
    time: opt.FirstTime = None,
    model: opt.FirstModel = None,
    regularization: opt.FirstPenalty = None,
    half_life: opt.FirstHalfLife = None,
    also: opt.FirstAlso = None,
    alpha: opt.FirstAlpha = None,
    fixed_budget: opt.FirstFixedBudget = None,
    at_random: opt.FirstAtRandom = False,
    horizon: opt.FirstPeriodHorizon = None,
    burst: opt.FirstBurst = None,
    label_range: opt.FirstLabelRange = None,
    target: opt.FirstTarget = None,
    new: opt.FirstNew = False,
    classes: opt.FirstClasses = None,
    id: opt.FirstId = None,
    skip: opt.Skip = None,
    categorical: opt.CategoricalColumns = None,
    embedding: opt.EmbeddingColumn = None,
    text: opt.TextColumn = None,
    text_model: opt.FirstTextModel = None,
    impute: opt.Impute = False,
    add_column: opt.AddColumn = None,
    expire: opt.Expire = None,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    seed: opt.FirstSeed = None,
    cluster: opt.Cluster = None,
    workers: opt.Workers = None,
    gpus: opt.Gpus = 0.0,
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
    options = StartOptions(
        ModelOptions(model, regularization, half_life, also or None, label_range),
        RuleOptions(budget, per, time, alpha, fixed_budget, at_random, horizon, burst),
        Columns(skip, categorical, embedding, text, text_model, impute, add_column),
        target,
        id,
        seed,
        classes,
        new,
    )
    oldest = since(expire, "qufur ask")
    if cluster is not None:
        from qufur.cli._cluster import Cluster, ask_on_cluster

        reject_options("qufur ask", "--cluster", {"expire": expire, "sep": sep, "decimal": decimal})
        result = ask_on_cluster(
            Cluster(cluster, workers, gpus), data, state, out, options, format, force=force
        )
        _print(result.workbook, result.rows, result.n_chosen, out, result.notes, format, json)
        return
    if workers is not None or gpus:
        raise invalid("--workers or --gpus", "qufur ask", "omitted without --cluster", "one of them")
    path = Path(data)
    files = tables_at(path)
    check_table(out, files_of(state) | files)
    with locked(state):
        digests = [(digest_of(file), file.name) for file in files.values()]
        existing = _loaded(state) if state.exists() else None
        source = Source(path, sep, decimal, None if existing is None else existing.dialect)
        workbook, total, notes = prepare_table(existing, source, options, quiet=json)
        for digest, name in digests:
            workbook.register_table(digest, name)
        if oldest is not None:
            gone = _expired(workbook, oldest, out, force)
            if gone:
                notes = [f"Retracted {counted(gone, 'label')} that did not arrive within {expire}.", *notes]
        if not force:
            check_answered(workbook, out)
        rows = TableReader(
            source, None if json else "Asking", text=workbook.encoding.text is not None, total=total
        )
        keep_dialect(workbook, source, rows.file)
        with few_imports(workbook.learner.model):
            n_chosen = _write(workbook, rows, out, format)
        # Saved last: until then the same call writes the same file again.
        save_state(workbook, state, f"ask {path.name}", f"{counted(n_chosen, 'row')} to label")
    _print(workbook, rows.count, n_chosen, out, [*rows.notes, *notes], format, json)


def _loaded(state: Path) -> Workbook:
    with without_pandas():
        return Workbook.load(state)


def prepare_table(
    workbook: Workbook | None, source: Source, options: StartOptions, *, quiet: bool
) -> StartedWorkbook:
    """Create the workbook for a table, or extend an existing one by what the table adds."""
    if workbook is None:
        return start_workbook("qufur ask", source, options, quiet=quiet)
    check_start_options(workbook, options.given())
    check_target(workbook.id, workbook.target)
    options.columns.fetch(workbook.encoding)
    rule: Callable[[int], Rule] | None = None
    periods: FirstPeriods | LaterPeriods | None = None
    if not workbook.has_rule:  # `qufur learn` creates a workbook without a rule
        periods = periods_from_options(options.rule, workbook.target)
        model = ModelOptions(name_of(workbook.learner.model))
        rule = periods.rule if periods else rule_from_options("qufur ask", options.rule, model)
    periods = periods or LaterPeriods(workbook)
    total, notes = grow(workbook, source, options.columns, quiet=quiet, observer=periods.add)
    if rule is not None:
        choose_rule(workbook, rule(total))
    return StartedWorkbook(workbook, total, notes + periods.apply(workbook))


def _expired(workbook: Workbook, oldest: float, out: Path, force: bool) -> int:
    """Retract expired labels, unless --out contains them; return how many."""
    if not force:
        check_filled_in(workbook, out)
    return len(corrections.retract(workbook, corrections.asked_before(workbook, oldest)))


def _write(workbook: Workbook, rows: TableReader, out: Path, format: Tool | None) -> int:
    """Write the rows to label with the columns that annotators need; return how many."""
    header, columns = columns_to_show(workbook, rows)
    with rows_out(workbook, out, header, format) as write:
        count = 0
        for batch in rows:
            chosen = choose_rows(workbook, batch, columns)
            write(chosen)
            workbook.pending_rows.add(header, chosen)
            count += len(chosen)
        return count


def columns_to_show(workbook: Workbook, rows: TableReader) -> tuple[list[str], list[str]]:
    """Return the header of the rows to label, and which of its columns come from the table."""
    return header_of(workbook, [name for name, column in rows.columns.items() if not _is_embedding(column)])


def choose_rows(workbook: Workbook, batch: Batch, columns: Sequence[str]) -> list[list[Any]]:
    """Predict a batch and decide which rows to label; return those rows with these columns."""
    answers = workbook.ask(batch)
    indices = answers.query.nonzero()[0].tolist()
    return rows_to_label(
        answers, indices, [[batch.columns[name][index] for index in indices] for name in columns]
    )


def _is_embedding(column: Any) -> bool:
    return getattr(column, "ndim", 1) > 1 or isinstance(column[0], list)


def _print(
    workbook: Workbook, rows: int, n_chosen: int, out: Path, notes: list[str], format: Tool | None, json: bool
) -> None:
    learner, limit = workbook.learner, describe_limit(workbook)
    notes = [*([limit] if limit else []), *notes]
    if json:
        counts = {"left": learner.left, "outstanding": len(learner.outstanding)}
        _show.print_json(
            {"rows": rows, "wanted": n_chosen, **counts, **period_status(workbook), "notes": notes}
        )
        return
    print(f"{n_chosen} of {counted(rows, 'row')} to label: written to {out}.")
    left = "no budget" if learner.left is None else f"{learner.left} left"
    print(
        f"{counted(learner.spent, 'label')} bought in total, {left}, {len(learner.outstanding)} outstanding."
    )
    for note in notes:
        print(note)
    fill_in = f"Fill in the column {workbook.target!r} and pass the file to `qufur tell`."
    if n_chosen:
        print(fill_in if format is None else f"Pass the export to `qufur tell --format {format.value}`.")
