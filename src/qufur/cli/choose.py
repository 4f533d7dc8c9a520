"""`qufur choose`: which rows of a table without order to label, all at once."""

from __future__ import annotations

import json as text_of
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.columns import Columns
from qufur.cli.loop import Rows, table, tables_at
from qufur.cli.options import (
    BUDGET,
    TABLE,
    WRITTEN,
    CategoricalColumns,
    Decimal,
    EmbeddingColumn,
    Impute,
    Json,
    Separator,
    Skip,
    TextColumn,
    TextModel,
)
from qufur.cli.outputs import check_table
from qufur.cli.target import USUAL
from qufur.counts import counted
from qufur.errors import invalid
from qufur.labelling.candidates import Candidates
from qufur.labelling.pool import CANDIDATES, Choice
from qufur.labelling.pool import choose as choose_rows
from qufur.labelling.reasons import reasons
from qufur.models.base import Id
from qufur.rules.from_budget import as_amount, labels_within
from qufur.tables import Batch, Encoding, ids, read
from qufur.tables.batch import spread
from qufur.tables.source import Source
from qufur.tables.written import column_called, free, heading

NAME = "qufur choose"


def choose(
    data: Annotated[Path, typer.Argument(help=f"{TABLE} of rows to choose from.")],
    budget: Annotated[str, typer.Option(metavar="LABELS", help=f"Rows to choose: {BUDGET}.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help=f"{WRITTEN} of the rows to label.")
    ],
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that names rows; by default their number.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of labels, 'label' by default; rows that have one are known."
        ),
    ] = None,
    known: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Rows that are labelled, by id. May be given several times."),
    ] = None,
    skip: Skip = None,
    categorical: CategoricalColumns = None,
    embedding: EmbeddingColumn = None,
    text: TextColumn = None,
    text_model: TextModel = None,
    impute: Impute = False,
    sep: Separator = None,
    decimal: Decimal = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn from a long table.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
    json: Json = False,
) -> None:
    """Choose the rows of a table whose labels tell most about all of it, at once.

    The order of rows does not matter, and no label is needed. The rows are written best first, each with the
    reason. Fill in their labels, and give them to `qufur learn` or to any model.
    """
    amount = as_amount(budget, NAME, "--budget")
    columns = Columns(skip, categorical, embedding, text, text_model, impute)
    columns.check(NAME)
    _check_out(out, tables_at(data) | {f"the table {path}": path for path in known or ()}, force=force)
    rows = columns.rows(Source(data, sep, decimal), quiet=json)
    names = [*rows.columns, *rows.file.numbers]
    target = _target(target, id, rows)
    there = target if target in names else None
    id_column = id or free("row", {heading(name) for name in (*names, target)})
    labelled = _ids_in(known or [], id_column)
    count = _count(amount, rows)
    candidates = Candidates(id, there, labelled, count, seed)
    rows.watch(candidates.look)
    encoding = columns.encoding(rows, scale=False, target=there, id=id)
    pool, choice = _choose(candidates, encoding, count, seed)
    _write(out, choice, pool, candidates.free.ids, encoding, heading(id_column), heading(target))
    notes = [*rows.file.notes, *encoding.notes, *_notes(candidates, len(labelled), encoding, there is None)]
    if json:
        left = choice.uncertainty.tolist()
        show.print_json({"rows": rows.count, "chosen": count, "uncertainty": left, "notes": notes})
        return
    print(f"{count} of {counted(rows.count, 'row')} chosen: written to {out}.", *notes, sep="\n")
    print(f"Fill in the column {target!r}. A model must leave out the columns of ranks and reasons.")


def _target(target: str | None, id: str | None, rows: Rows) -> str:
    target = target or rows.file.target or "label"
    if id is not None and heading(id) == heading(target):
        raise invalid("--target", NAME, "another column than --id", repr(target))
    return target


def _count(amount: int | float, rows: Rows) -> int:
    """Return how many rows to choose; the table is only counted where that matters before it is read."""
    if isinstance(amount, int) and amount <= CANDIDATES:
        return amount
    return labels_within(amount, rows.file.count(), NAME, "--budget")


def _choose(candidates: Candidates, encoding: Encoding, count: int, seed: int) -> tuple[Batch, Choice]:
    """Return the rows that were looked at, and which of them are chosen."""
    free, labelled = candidates.free, candidates.labelled
    if count > free.count:
        raise invalid("--budget", NAME, f"at most {free.count}, the number of rows without a label", count)
    pool = free.batch()
    known = encoding.encode(labelled.batch()) if labelled.count else None
    return pool, choose_rows(encoding.encode(pool), count, known=known, seed=seed)


def _check_out(out: Path, used: Mapping[str, Path], *, force: bool) -> None:
    check_table(out, used)
    if out.exists() and not force:
        remedy = "Write to another file; --force replaces it."
        raise invalid("--out", NAME, "a new file", f"{str(out)!r}, which is there", remedy)


def _ids_in(files: Sequence[Path], column: str) -> set[Id]:
    """Return what rows are called in files that this command wrote, or others."""
    return {
        name for file in files for batch in read(file) for name in ids(batch, column_called(column, batch))
    }


def _write(
    out: Path, choice: Choice, pool: Batch, called: list[Id], encoding: Encoding, id: str, target: str
) -> None:
    """Write the chosen rows with all their columns, best first, and why each was chosen."""
    shown = {heading(name): name for name in spread(pool.columns, pool.numbers)}
    columns = {name: pool.column(name) for head, name in shown.items() if head not in (id, target)}
    rows = [{name: column[place] for name, column in columns.items()} for place in choice.rows.tolist()]
    names = [called[place] for place in choice.rows.tolist()]
    said = reasons(choice, _sources(encoding, pool), names, rows)
    taken = {id, target, *shown}
    header = [id, *map(heading, columns), free("rank", taken), free("reason", taken), target]
    with table(out, header) as write:
        write(
            [name, *map(_written, row.values()), rank, reason, ""]
            for rank, (name, row, reason) in enumerate(zip(names, rows, said, strict=True), 1)
        )


def _sources(encoding: Encoding, pool: Batch) -> list[str]:
    """Return the column that each input comes from; numbers of a matrix are columns of their own."""
    single = {source: name for name, source in pool.numbers.items()}
    return [
        single.get((column.name, place), column.name)
        for column in encoding.columns
        for place, _ in enumerate(column.names)
    ]


def _written(cell: Any) -> Any:
    return text_of.dumps(cell) if isinstance(cell, list) else cell


def _notes(candidates: Candidates, known: int, encoding: Encoding, is_new: bool) -> list[str]:
    free, labelled = candidates.free, candidates.labelled.count
    notes = [f"{counted(labelled, 'row has', 'rows have')} labels already."] if labelled else []
    if candidates.found < known:
        notes.append(f"{known - candidates.found} of the labelled rows are not in the table.")
    if len(free.ids) < free.count:
        notes.append(f"Looked at {len(free.ids)} of its rows, drawn at random.")
    for column in encoding.columns if is_new else ():
        if heading(column.name).lower() in USUAL:
            notes.append(f"Column {column.name!r} is an input; --target {column.name} if it has labels.")
    return notes
