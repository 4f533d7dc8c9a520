"""`qufur learn`: labels that exist already."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur.bookkeeping.classes import name_classes
from qufur.bookkeeping.free_labels import Learned, labelled
from qufur.bookkeeping.free_labels import learn as learn_labels
from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.classes import as_classes, read_labels
from qufur.cli.columns import Columns
from qufur.cli.first_table import check_first, started
from qufur.cli.growth import grow
from qufur.cli.loop import Rows, State, digest_of, keep_dialect, opened, tables_at
from qufur.cli.options import (
    CLASSES,
    TABLE,
    AddColumn,
    CategoricalColumns,
    Decimal,
    EmbeddingColumn,
    FirstAlso,
    FirstHalfLife,
    FirstId,
    FirstLabelRange,
    FirstModel,
    FirstPenalty,
    FirstSeed,
    FirstTarget,
    FirstTextModel,
    Impute,
    Json,
    Separator,
    Skip,
    TextColumn,
)
from qufur.cli.target import on_telling_columns
from qufur.counts import counted
from qufur.errors import invalid
from qufur.storage.lock import locked
from qufur.tables.label_forms import LabelForms
from qufur.tables.source import Source
from qufur.workbook import Workbook


def learn(
    data: Annotated[Path, typer.Argument(help=f"{TABLE} with labels; rows without a label are left out.")],
    state: State,
    model: FirstModel = None,
    regularization: FirstPenalty = None,
    half_life: FirstHalfLife = None,
    also: FirstAlso = None,
    label_range: FirstLabelRange = None,
    target: FirstTarget = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,…", help=f"{CLASSES}. Later: all, with new ones.")
    ] = None,
    id: FirstId = None,
    skip: Skip = None,
    categorical: CategoricalColumns = None,
    embedding: EmbeddingColumn = None,
    text: TextColumn = None,
    text_model: FirstTextModel = None,
    impute: Impute = False,
    add_column: AddColumn = None,
    sep: Separator = None,
    decimal: Decimal = None,
    seed: FirstSeed = None,
    accept_outliers: Annotated[
        bool, typer.Option("--accept-outliers", help="Take labels that are far out of range as they are.")
    ] = False,
    json: Json = False,
) -> None:
    """Learn the labels of a table that has them already.

    They cost no budget. If it is the first table, it makes the state file, and the first `qufur ask` says
    what further labels may cost. A row that waits for its label gets it; the others count as seen, and are
    not asked about any more. If one row is wrong, none is learned.
    """
    first = {
        "--model": model,
        "--regularization": regularization,
        "--half-life": half_life,
        "--also": also or None,
        "--label-range": label_range,
        "--target": target,
        "--id": id,
        "--seed": seed,
    }
    columns = Columns(skip, categorical, embedding, text, text_model, impute, add_column)
    source = Source(data, sep, decimal)
    with locked(state):
        if state.exists():
            book = _continued(state, first, columns, classes)
            source = replace(source, usual=book.dialect)
            total, notes = grow(book, source, columns, quiet=json)
        else:
            said = first | {"--classes": classes}
            book, total, notes = started("qufur learn", source, said, columns, labelled=True, quiet=json)
        for file in tables_at(data).values():
            book.note_table(digest_of(file), file.name)
        rows = Rows(source, None if json else "Reading", text=book.encoding.text is not None, total=total)
        forms = LabelForms(book.unit)
        keep_dialect(book, source, rows.file)
        learned = learn_labels(
            book, labelled(book, rows, partial(read_labels, book, forms)), accept_outliers=accept_outliers
        )
        if not book.told:
            raise invalid(f"column {book.target!r}", data.name, "labels, some blank perhaps", "none at all")
        if learned.free or learned.outstanding or classes is not None:
            commit(
                book,
                state,
                f"learn {data.name}",
                f"{counted(learned.free + learned.outstanding, 'label')} learned",
            )
    notes = list(dict.fromkeys([*rows.file.notes, *forms.notes, *notes, *on_telling_columns(book)]))
    if json:
        left = {"outstanding_left": len(book.learner.outstanding), "notes": notes}
        show.print_json(asdict(learned) | left)
        return
    _print(learned, len(book.learner.outstanding), notes)
    if not book.has_rule:
        print("Give the first table of which labels may be bought to `qufur ask`, with --budget.")


def _continued(state: Path, first: dict[str, Any], columns: Columns, classes: str | None) -> Workbook:
    check_first(first | columns.fixed, "qufur learn")
    book = opened(state)
    if classes is not None:
        name_classes(book, as_classes(classes, "qufur learn") or ())
    columns.fetch(book.encoding)
    return book


def _print(learned: Learned, outstanding: int, notes: list[str]) -> None:
    count, blank = learned.free + learned.outstanding, learned.blank
    labels, rows = counted(count, "label"), counted(blank, "row")
    print(f"{labels} learned, {learned.known} known before, {rows} without a label.")
    if learned.outstanding:
        print(f"{learned.outstanding} of them had been asked for; the others cost nothing.")
    print(f"{counted(outstanding, 'label is', 'labels are')} outstanding.", *notes, sep="\n")
