"""`qufur ask`: which labels of a table are worth buying."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.columns import Columns
from qufur.cli.exchange import TasksFormat, rows_out
from qufur.cli.first_table import started
from qufur.cli.growth import grow, on_first_table
from qufur.cli.loop import Rows, State, digest_of, files_of, locked, tables_at
from qufur.cli.model import ModelName
from qufur.cli.options import (
    ALSO,
    BUDGET,
    CLASSES,
    HALF_LIFE,
    MODEL,
    PENALTY,
    TABLE,
    WRITTEN,
    AddColumn,
    CategoricalColumns,
    Decimal,
    EmbeddingColumn,
    Force,
    Impute,
    Json,
    Separator,
    Skip,
    TextColumn,
)
from qufur.cli.outputs import check_answered, check_table
from qufur.cli.predictions import shown_prediction
from qufur.cli.target import check_target
from qufur.errors import invalid
from qufur.labelling.exchange import Tool
from qufur.rules.from_budget import promise
from qufur.tables import Batch
from qufur.tables.embeddings import BERT
from qufur.tables.source import Source
from qufur.tables.written import free, heading
from qufur.workbook import Workbook


def ask(
    data: Annotated[Path, typer.Argument(help=f"{TABLE} of rows to predict.")],
    state: State,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help=f"{WRITTEN} of the rows to label.")
    ],
    budget: Annotated[
        str | None,
        typer.Option(metavar="LABELS", help=f"First: labels to buy: {BUDGET}."),
    ] = None,
    model: Annotated[
        ModelName | None,
        typer.Option(help=f"First: {MODEL[0].lower()}{MODEL[1:]}."),
    ] = None,
    regularization: Annotated[
        float | None, typer.Option(metavar="LAMBDA", help=f"First, {PENALTY[0].lower()}{PENALTY[1:]}.")
    ] = None,
    half_life: Annotated[
        int | None,
        typer.Option(min=1, metavar="ROWS", help=f"First, {HALF_LIFE[0].lower()}{HALF_LIFE[1:]}."),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"First, {ALSO[0].lower()}{ALSO[1:]}. May be given several times."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="First, with ridge: labels per unit of uncertainty; --budget is then a cap.",
        ),
    ] = None,
    fixed_budget: Annotated[
        str | None,
        typer.Option(metavar="LABELS", help="First, with ridge: a budget by Algorithm 2 of the paper."),
    ] = None,
    at_random: Annotated[
        bool, typer.Option("--at-random", help="First: spend --budget on rows drawn at random, to compare.")
    ] = False,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="ROWS",
            help="First: rows the budget is for; by default this table's for a count, and any for a share.",
        ),
    ] = None,
    burst: Annotated[
        float | None,
        typer.Option(
            metavar="LABELS", help="First, with a share: labels on top of it; 10 with experts by default."
        ),
    ] = None,
    label_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH", help="First: the lowest and the highest label; experts can do without."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="First: the column of labels; 'label' by default.")
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="First: labels are yet to come, though a column has a like name.")
    ] = False,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,…", help=f"First: {CLASSES[0].lower()}{CLASSES[1:]}.")
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="First: the column that names rows; by default their number."),
    ] = None,
    skip: Skip = None,
    categorical: CategoricalColumns = None,
    embedding: EmbeddingColumn = None,
    text: TextColumn = None,
    text_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"First: model that reads text, or its folder; {BERT} by default. Later: let it be fetched.",
        ),
    ] = None,
    impute: Impute = False,
    add_column: AddColumn = None,
    sep: Separator = None,
    decimal: Decimal = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="First: the seed of the coins; 0 by default.")
    ] = None,
    force: Force = False,
    format: TasksFormat = None,
    json: Json = False,
) -> None:
    """Predict on the rows of a table and say which labels are worth buying.

    The first call starts the work: it fixes the budget and how rows become inputs, and makes the state file.
    Fill in the labels of the rows written to --out, and give them to `qufur tell`.
    """
    first = {
        "--model": model,
        "--regularization": regularization,
        "--half-life": half_life,
        "--also": also or None,
        "--classes": classes,
        "--new": new or None,
        "--budget": budget,
        "--alpha": alpha,
        "--fixed-budget": fixed_budget,
        "--at-random": at_random or None,
        "--horizon": horizon,
        "--burst": burst,
        "--label-range": label_range,
        "--target": target,
        "--id": id,
        "--seed": seed,
    }
    columns = Columns(skip, categorical, embedding, text, text_model, impute, add_column)
    source, files = Source(data, sep, decimal), tables_at(data)
    check_table(out, files_of(state) | files)
    with locked(state):
        digests = [(digest_of(file), file.name) for file in files.values()]
        if state.exists():
            book = _continued(state, first, columns)
            total, notes = grow(book, source, columns, quiet=json)
        else:
            book, total, notes = started(source, first, columns, quiet=json)
            notes = [*notes, *on_first_table(book.encoding)]
        for digest, name in digests:
            book.note_table(digest, name)
        if not force:
            check_answered(book, out)
        rows = Rows(source, None if json else "Asking", text=book.encoding.text is not None, total=total)
        wanted = _write(book, rows, out, format)
        # Last: until then the same call makes the same file again.
        commit(book, state, f"ask {data.name}", f"{wanted} labels wanted")
    said = promise(book.learner.rule)
    notes = [*([said] if said else []), *rows.file.notes, *notes]
    _print(book, rows.count, wanted, out, notes, format, json)


def _continued(state: Path, first: dict[str, Any], columns: Columns) -> Workbook:
    for name, value in (first | columns.fixed).items():
        if value is not None:
            remedy = "It is fixed by the first table."
            raise invalid(name, "qufur ask", "left out once the state file is there", repr(value), remedy)
    book = Workbook.load(state)
    check_target(book.id, book.target)
    if columns.text_model is not None:
        book.encoding.fetch(columns.text_model)
    return book


def _write(book: Workbook, rows: Rows, out: Path, format: Tool | None) -> int:
    """Write the rows to label with what a person needs to label them; return how many."""
    header, shown = shown_columns(book, rows)
    with rows_out(book, out, header, format) as write:
        count = 0
        for batch in rows:
            wanted = wanted_rows(book, batch, shown)
            write(wanted)
            book.waiting.add(header, wanted)
            count += len(wanted)
        return count


def shown_columns(book: Workbook, rows: Rows) -> tuple[list[str], list[str]]:
    """Return the header of rows to label, and what those of its columns are called that the table has."""
    id, target = heading(book.id_column), heading(book.target)
    prediction = free("prediction", {id, target})
    shown: dict[str, str] = {}
    for name, column in rows.columns.items():
        if heading(name) not in (id, target, prediction) and not _is_embedding(column):
            shown.setdefault(heading(name), name)
    return [id, *shown, prediction, target], list(shown.values())


def wanted_rows(book: Workbook, batch: Batch, shown: Sequence[str]) -> list[list[Any]]:
    """Answer the rows of a batch; return those to label, with these columns."""
    answers = book.ask(batch)
    columns = [batch.columns[name] for name in shown]
    return [
        [answers.id[place], *(column[place] for column in columns), said, ""]
        for place in answers.query.nonzero()[0].tolist()
        for said in [shown_prediction(answers.prediction[place])]
    ]


def _is_embedding(column: Any) -> bool:
    return getattr(column, "ndim", 1) > 1 or isinstance(column[0], list)


def _print(
    book: Workbook, rows: int, wanted: int, out: Path, notes: list[str], format: Tool | None, json: bool
) -> None:
    learner = book.learner
    if json:
        counts = {"left": learner.left, "outstanding": len(learner.outstanding)}
        show.print_json({"rows": rows, "wanted": wanted, **counts, "notes": notes})
        return
    print(f"{rows} rows, {wanted} labels wanted: written to {out}.")
    left = "no budget" if learner.left is None else f"{learner.left} left"
    print(f"{learner.spent} labels bought in all, {left}, {len(learner.outstanding)} outstanding.")
    for note in notes:
        print(note)
    fill_in = f"Fill in the column {book.target!r} and give the file to `qufur tell`."
    if wanted:
        print(fill_in if format is None else f"Give the export to `qufur tell --format {format.value}`.")
