"""`qufur ask`: which labels of a table are worth buying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from qufur.bookkeeping import corrections
from qufur.bookkeeping.first_rule import choose_rule
from qufur.bookkeeping.wanted import header_of, rows_to_label
from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.columns import Columns
from qufur.cli.exchange import TasksFormat, rows_out
from qufur.cli.expiry import since
from qufur.cli.first_table import SPENDING, Start, check_first, check_left_out, rule_of, started
from qufur.cli.growth import grow
from qufur.cli.imports import few_imports, without_pandas
from qufur.cli.loop import Rows, State, digest_of, files_of, keep_dialect, tables_at
from qufur.cli.model import name_of
from qufur.cli.options import (
    BUDGET,
    TABLE,
    WRITTEN,
    AddColumn,
    CategoricalColumns,
    Decimal,
    EmbeddingColumn,
    FirstAlso,
    FirstClasses,
    FirstHalfLife,
    FirstId,
    FirstLabelRange,
    FirstModel,
    FirstNew,
    FirstPenalty,
    FirstSeed,
    FirstTarget,
    FirstTextModel,
    Force,
    Impute,
    Json,
    Separator,
    Skip,
    TextColumn,
)
from qufur.cli.outputs import check_answered, check_filled_in, check_table
from qufur.cli.periods import FirstPeriods, LaterPeriods, first_periods, promised, standing
from qufur.cli.target import check_target
from qufur.counts import counted
from qufur.errors import invalid
from qufur.labelling.exchange import Tool
from qufur.rules import Rule
from qufur.storage.lock import locked
from qufur.tables import Batch
from qufur.tables.source import Source
from qufur.workbook import Workbook


def ask(
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"{TABLE} of rows to predict.")],
    state: State,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help=f"{WRITTEN} of the rows to label.")
    ],
    budget: Annotated[
        str | None,
        typer.Option(metavar="LABELS", help=f"First: labels to buy: {BUDGET}."),
    ] = None,
    per: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="PERIOD LABELS",
            help="First, in place of --budget: at most so many labels an hour, day, week or month.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="First, with --per: the column of dates; by default the only one."
        ),
    ] = None,
    model: FirstModel = None,
    regularization: FirstPenalty = None,
    half_life: FirstHalfLife = None,
    also: FirstAlso = None,
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
            help="First: rows the budget is for; by default this table's for a count, and any for a share. "
            "With --per: rows of the first period, if more come than this table has.",
        ),
    ] = None,
    burst: Annotated[
        float | None,
        typer.Option(
            metavar="LABELS", help="First, with a share: labels on top of it; 10 with experts by default."
        ),
    ] = None,
    label_range: FirstLabelRange = None,
    target: FirstTarget = None,
    new: FirstNew = False,
    classes: FirstClasses = None,
    id: FirstId = None,
    skip: Skip = None,
    categorical: CategoricalColumns = None,
    embedding: EmbeddingColumn = None,
    text: TextColumn = None,
    text_model: FirstTextModel = None,
    impute: Impute = False,
    add_column: AddColumn = None,
    expire: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Give up on labels asked for longer ago than this, such as 30d."),
    ] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    seed: FirstSeed = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Encode rows on a Ray cluster, such as ray://head:10001, or on one here: local. "
            "DATA are Parquet files then, or their URL.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With --cluster: tasks that encode rows.")
    ] = None,
    gpus: Annotated[
        float, typer.Option(min=0, metavar="N", help="With --cluster: GPUs of such a task, for text.")
    ] = 0.0,
    force: Force = False,
    format: TasksFormat = None,
    json: Json = False,
) -> None:
    """Predict on the rows of a table and say which labels are worth buying.

    The first call starts the work: it fixes the budget and how rows become inputs, and makes the state file.
    If `qufur learn` did so with labels that were there, it fixes the budget alone.
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
        "--per": per,
        "--time": time,
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
    oldest = since(expire, "qufur ask")
    if cluster is not None:
        from qufur.cli.ask_cluster import Cluster, ask_on_cluster

        others = {"--expire": expire, "--sep": sep, "--decimal": decimal}
        check_left_out("qufur ask", others, "--cluster", *others)
        where, said = Cluster(cluster, workers, gpus), (first, columns)
        asked = ask_on_cluster(where, data, state, out, *said, format, force=force)
        _print(asked.book, asked.rows, asked.wanted, out, asked.notes, format, json)
        return
    if workers is not None or gpus:
        raise invalid("--workers or --gpus", "qufur ask", "left out without --cluster", "one of them")
    path = Path(data)
    source, files = Source(path, sep, decimal), tables_at(path)
    check_table(out, files_of(state) | files)
    with locked(state):
        digests = [(digest_of(file), file.name) for file in files.values()]
        known = _loaded(state) if state.exists() else None
        book, total, notes = prepared(known, source, first, columns, quiet=json)
        source = replace(source, usual=book.dialect)
        for digest, name in digests:
            book.note_table(digest, name)
        if oldest is not None:
            gone = _expired(book, oldest, out, force)
            notes = [
                *([f"{counted(gone, 'label')} given up that did not come within {expire}."] if gone else []),
                *notes,
            ]
        if not force:
            check_answered(book, out)
        rows = Rows(source, None if json else "Asking", text=book.encoding.text is not None, total=total)
        keep_dialect(book, source, rows.file)
        with few_imports(book.learner.model):
            wanted = _write(book, rows, out, format)
        # Last: until then the same call makes the same file again.
        commit(book, state, f"ask {path.name}", f"{counted(wanted, 'label')} wanted")
    _print(book, rows.count, wanted, out, [*rows.file.notes, *notes], format, json)


class Continued(NamedTuple):
    """The work so far; the rule by the number of rows, if `qufur learn` left it open; rows by period."""

    book: Workbook
    rule: Callable[[int], Rule] | None
    periods: FirstPeriods | LaterPeriods


def _loaded(state: Path) -> Workbook:
    with without_pandas():
        return Workbook.load(state)


def prepared(
    book: Workbook | None, source: Source, first: dict[str, Any], columns: Columns, *, quiet: bool
) -> Start:
    """Let the work begin with a table, or go on with it, so that its rows can be asked about."""
    if book is None:
        return started("qufur ask", source, first, columns, quiet=quiet)
    book, rule, periods = _continued(book, first, columns)
    source = replace(source, usual=book.dialect)
    total, notes = grow(book, source, columns, quiet=quiet, look=periods.add)
    if rule is not None:
        choose_rule(book, rule(total))
    return Start(book, total, notes + periods.settle(book))


def _continued(book: Workbook, first: dict[str, Any], columns: Columns) -> Continued:
    open_yet = () if book.has_rule else SPENDING
    check_first(
        {name: said for name, said in first.items() if name not in open_yet} | columns.fixed, "qufur ask"
    )
    check_target(book.id, book.target)
    columns.fetch(book.encoding)
    if book.has_rule:
        return Continued(book, None, LaterPeriods(book))
    periods = first_periods(first, book.target)
    if periods is not None:
        return Continued(book, periods.rule, periods)
    return Continued(
        book, rule_of("qufur ask", first | {"--model": name_of(book.learner.model)}), LaterPeriods(book)
    )


def _expired(book: Workbook, oldest: float, out: Path, force: bool) -> int:
    """Give up on the labels that did not come in time, unless they are in --out; return how many."""
    if not force:
        check_filled_in(book, out)
    return len(corrections.retract(book, corrections.asked_before(book, oldest)))


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
    return header_of(book, [name for name, column in rows.columns.items() if not _is_embedding(column)])


def wanted_rows(book: Workbook, batch: Batch, shown: Sequence[str]) -> list[list[Any]]:
    """Answer the rows of a batch; return those to label, with these columns."""
    answers = book.ask(batch)
    places = answers.query.nonzero()[0].tolist()
    return rows_to_label(
        answers, places, [[batch.columns[name][place] for place in places] for name in shown]
    )


def _is_embedding(column: Any) -> bool:
    return getattr(column, "ndim", 1) > 1 or isinstance(column[0], list)


def _print(
    book: Workbook, rows: int, wanted: int, out: Path, notes: list[str], format: Tool | None, json: bool
) -> None:
    learner, said = book.learner, promised(book)
    notes = [*([said] if said else []), *notes]
    if json:
        counts = {"left": learner.left, "outstanding": len(learner.outstanding)}
        show.print_json({"rows": rows, "wanted": wanted, **counts, **standing(book), "notes": notes})
        return
    print(f"{counted(rows, 'row')}, {counted(wanted, 'label')} wanted: written to {out}.")
    left = "no budget" if learner.left is None else f"{learner.left} left"
    print(f"{counted(learner.spent, 'label')} bought in all, {left}, {len(learner.outstanding)} outstanding.")
    for note in notes:
        print(note)
    fill_in = f"Fill in the column {book.target!r} and give the file to `qufur tell`."
    if wanted:
        print(fill_in if format is None else f"Give the export to `qufur tell --format {format.value}`.")
