"""`qufur tell`: labels that came."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from qufur.bookkeeping.classes import name_classes
from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.classes import as_classes, read_labels
from qufur.cli.exchange import Exported, ExportFormat, exported, give_up
from qufur.cli.loop import State, opened
from qufur.cli.options import Decimal, Json, Separator
from qufur.cli.target import on_telling_columns
from qufur.counts import counted
from qufur.storage.lock import locked
from qufur.tables import ids, open_table
from qufur.tables.batch import ROWS
from qufur.tables.ids_and_labels import check_once
from qufur.tables.label_forms import LabelForms
from qufur.tables.source import Source
from qufur.tables.written import column_called
from qufur.workbook import Workbook


def tell(
    data: Annotated[
        Path, typer.Argument(help="File with ids and labels; rows without a label are left out.")
    ],
    state: State,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let other labels take the place of those that came before.")
    ] = False,
    accept_outliers: Annotated[
        bool, typer.Option("--accept-outliers", help="Take labels that are far out of range as they are.")
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Let labels be these classes, if none came yet; or name all, with new ones.",
        ),
    ] = None,
    format: ExportFormat = None,
    sep: Separator = None,
    decimal: Decimal = None,
    json: Json = False,
) -> None:
    """Learn the labels that a table brings.

    It needs the column of ids that `qufur ask` wrote, and the column of labels. The same label may come
    twice. If one row is wrong, none is learned; one that is more than ten times the range of labels away from
    it counts as wrong.
    """
    with locked(state):
        book = opened(state)
        if classes is not None:
            name_classes(book, as_classes(classes, "qufur tell") or ())
        if format is None:
            found, notes = _of_table(book, Source(data, sep, decimal, book.dialect))
        else:
            found, notes = exported(book, data, format), []
        told = book.tell(
            found.names, found.labels, data.name, replace=replace, accept_outliers=accept_outliers
        )
        give_up(book, found.skipped)
        if told.new or told.replaced or found.skipped or classes is not None:
            commit(
                book,
                state,
                f"tell {data.name}",
                f"{counted(told.new, 'label')} learned, {told.replaced} replaced",
            )
    left, notes = len(book.learner.outstanding), [*notes, *on_telling_columns(book)]
    if json:
        counts = {"blank": found.blank, "outstanding": left}
        given_up = {"skipped": len(found.skipped)} if format is not None else {}
        show.print_json(asdict(told) | counts | given_up | {"notes": notes})
        return
    labels, rows = counted(told.new, "label"), counted(found.blank, "row")
    print(f"{labels} learned, {told.known} known before, {rows} without a label.")
    if found.skipped:
        several = "rows were skipped; their labels are"
        print(f"{counted(len(found.skipped), 'row was skipped; its label is', several)} given up.")
    if told.replaced:
        print(f"{counted(told.replaced, 'label was', 'labels were')} replaced.")
    print(f"{counted(left, 'label is', 'labels are')} outstanding.", *notes, sep="\n")


def _of_table(book: Workbook, source: Source) -> tuple[Exported, list[str]]:
    """Return the labels of a table, and what to note of it."""
    names, rows, values, blank = [], [], [np.empty(0)], 0
    forms = LabelForms(book.unit)
    file = open_table(source)
    for batch in file.batches(ROWS):
        places, found = read_labels(book, forms, batch, column_called(book.target, batch))
        called = ids(batch, column_called(book.id_column, batch))
        names += [called[place] for place in places.tolist()]
        rows += [batch.before + batch.row(place) for place in places.tolist()]
        values.append(found)
        blank += len(batch) - len(places)
    check_once(names, rows, source.name)
    return Exported(names, np.concatenate(values), [], blank), [*file.notes, *forms.notes]
