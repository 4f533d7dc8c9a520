"""`qufur choose`: choose rows of an unordered table to label, in one batch."""

from __future__ import annotations

import json as text_of
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._columns import Columns
from qufur.cli._flags import with_flags
from qufur.cli._start import LABEL_NAMES, check_target
from qufur.cli._state_file import TableReader, tables_at
from qufur.cli._table_out import check_table
from qufur.errors import invalid
from qufur.ids import Id
from qufur.labelling.pool import CANDIDATES, Candidates, Choice, reasons
from qufur.labelling.pool import choose as choose_rows
from qufur.rules.from_budget import as_amount, labels_within
from qufur.tables import Batch, Encoding, ids, read
from qufur.tables.batch import spread
from qufur.tables.source import Source
from qufur.tables.writers import column_called, column_heading, table, unused_name

NAME = "qufur choose"


@opt.with_groups
def choose(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Rows to choose from: {opt.TABLE}.")],
    budget: Annotated[
        str,
        opt.budget_option(metavar="LABELS", help=f"Rows to choose: {opt.BUDGET}."),
    ],
    out: opt.RowsToLabel,
    *,
    id: Annotated[
        str | None,
        opt.column_option(help="Id column. Default: the row number."),
    ] = None,
    target: Annotated[
        str | None,
        opt.column_option(
            help="Label column. Default: label. Rows with a label are not chosen.",
        ),
    ] = None,
    known: Annotated[
        list[Path] | None,
        opt.input_option(
            metavar="FILE",
            help=f"Table with the ids of rows that have labels. {opt.REPEATABLE}",
        ),
    ] = None,
    columns: Columns,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    seed: Annotated[
        int,
        opt.model_option(min=0, metavar="N", help="Random seed of the sample of a long table."),
    ] = 0,
    force: Annotated[bool, opt.output_option("--force", help="Replace --out if it exists.")] = False,
    json: opt.Json = False,
) -> None:
    """Choose the most informative rows of a table in one batch.

    The order of the rows does not matter, and no labels are needed. Rows are written best first, each with
    the reason. Fill in their labels and pass them to `qufur learn` or to any model.

    Example:
      qufur choose rows.csv --budget 100 -o todo.csv
    """
    amount = as_amount(budget, NAME, "--budget")
    columns.check(NAME)
    check_table(out, tables_at(data) | {f"the table {path}": path for path in known or ()})
    if out.exists() and not force:
        remedy = "Write to another file; --force replaces it."
        raise invalid("--out", NAME, "a new file", f"{str(out)!r}, which exists", remedy)
    rows = columns.rows(Source(data, sep, decimal), quiet=json)
    names = [*rows.columns, *rows.file.numbers]
    target = target or rows.file.target or "label"
    check_target(id, target, NAME)
    label_column = target if target in names else None
    id_column = id or unused_name("row", {column_heading(name) for name in (*names, target)})
    known_batches = chain.from_iterable(map(read, known or ()))
    labelled = {name for batch in known_batches for name in ids(batch, column_called(id_column, batch))}
    count = _count(amount, rows)
    candidates = Candidates(id, label_column, labelled, count, seed)
    rows.watch(candidates.add)
    encoding = columns.encoding(rows, scale=False, target=label_column, id=id)
    unlabelled = candidates.free
    if count > unlabelled.count:
        allowed = f"at most {unlabelled.count}, the number of rows without a label"
        raise invalid("--budget", NAME, allowed, count)
    pool = unlabelled.batch()
    existing = encoding.encode(candidates.labelled.batch()) if candidates.labelled.count else None
    choice = choose_rows(encoding.encode(pool), count, known=existing, seed=seed)
    _write(out, choice, pool, unlabelled.ids, encoding, column_heading(id_column), column_heading(target))
    choice_notes = _notes(candidates, len(labelled), encoding, is_new=label_column is None)
    notes = [*rows.notes, *map(with_flags, encoding.notes), *choice_notes]
    uncertainty = choice.uncertainty.tolist()
    content = {"rows": rows.count, "chosen": count, "uncertainty": uncertainty, "notes": notes}
    lines = [
        f"{count} of {counted(rows.count, 'row')} chosen: written to {out}.",
        *notes,
        f"Fill in the column {target!r}. Do not use the columns of ranks and reasons as model inputs.",
    ]
    _show.print_result(json, content, lines)


def _count(amount: int | float, rows: TableReader) -> int:
    """Return the number of rows to choose; count the table first for a share or a large number only."""
    if isinstance(amount, int) and amount <= CANDIDATES:
        return amount
    return labels_within(amount, rows.file.count(), NAME, "--budget")


def _write(
    out: Path, choice: Choice, pool: Batch, pool_ids: list[Id], encoding: Encoding, id: str, target: str
) -> None:
    """Write the chosen rows with all their columns, best first, each with the reason."""
    headings = {column_heading(name): name for name in spread(pool.columns, pool.numbers)}
    columns = {name: pool.column(name) for heading, name in headings.items() if heading not in (id, target)}
    rows = [{name: column[index] for name, column in columns.items()} for index in choice.rows.tolist()]
    names = [pool_ids[index] for index in choice.rows.tolist()]
    explanations = reasons(choice, _sources(encoding, pool), names, rows)
    taken = {id, target, *headings}
    rank_and_reason = [unused_name(name, taken) for name in ("rank", "reason")]
    header = [id, *map(column_heading, columns), *rank_and_reason, target]
    with table(out, header) as write:
        write(
            [name, *map(_cell_text, row.values()), rank, reason, ""]
            for rank, (name, row, reason) in enumerate(zip(names, rows, explanations, strict=True), 1)
        )


def _sources(encoding: Encoding, pool: Batch) -> list[str]:
    """Return the source column of each input; a column of a matrix counts as a column."""
    single = {source: name for name, source in pool.numbers.items()}
    return [
        single.get((column.name, index), column.name)
        for column in encoding.columns
        for index, _ in enumerate(column.names)
    ]


def _cell_text(cell: Any) -> Any:
    return text_of.dumps(cell) if isinstance(cell, list) else cell


def _notes(candidates: Candidates, known: int, encoding: Encoding, *, is_new: bool) -> list[str]:
    unlabelled, labelled = candidates.free, candidates.labelled.count
    notes = [f"{counted(labelled, 'row has', 'rows have')} existing labels."] if labelled else []
    if candidates.matched_ids < known:
        notes.append(f"{known - candidates.matched_ids} of the labelled rows are not in the table.")
    if len(unlabelled.ids) < unlabelled.count:
        notes.append(f"Chosen from a uniform sample of {len(unlabelled.ids)} of its rows.")
    for column in encoding.columns if is_new else ():
        if column_heading(column.name).lower() in LABEL_NAMES:
            notes.append(
                f"Column {column.name!r} is an input; pass --target {column.name} if it has the labels."
            )
    return notes
