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
from qufur.cli.loop import ROWS, State, locked, opened
from qufur.cli.options import Decimal, Json, Separator
from qufur.cli.target import on_telling_columns
from qufur.tables import ids, open_table
from qufur.tables.ids_and_labels import check_once
from qufur.tables.label_forms import LabelForms
from qufur.tables.source import Source
from qufur.tables.written import column_called


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
        names, rows, values, blank = [], [], [np.empty(0)], 0
        forms = LabelForms(book.unit)
        file = open_table(Source(data, sep, decimal, book.dialect))
        for batch in file.batches(ROWS):
            places, found = read_labels(book, forms, batch, column_called(book.target, batch))
            called = ids(batch, column_called(book.id_column, batch))
            names += [called[place] for place in places.tolist()]
            rows += [batch.before + batch.row(place) for place in places.tolist()]
            values.append(found)
            blank += len(batch) - len(places)
        check_once(names, rows, data.name)
        told = book.tell(
            names, np.concatenate(values), data.name, replace=replace, accept_outliers=accept_outliers
        )
        if told.new or told.replaced or classes is not None:
            commit(book, state, f"tell {data.name}", f"{told.new} labels learned, {told.replaced} replaced")
    left, notes = len(book.learner.outstanding), [*file.notes, *forms.notes, *on_telling_columns(book)]
    if json:
        show.print_json(asdict(told) | {"blank": blank, "outstanding": left, "notes": notes})
        return
    print(f"{told.new} labels learned, {told.known} known before, {blank} rows without a label.")
    if told.replaced:
        print(f"{told.replaced} labels were replaced.")
    print(f"{left} labels are outstanding.", *notes, sep="\n")
