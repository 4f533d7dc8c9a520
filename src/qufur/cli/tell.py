"""`qufur tell`: labels that came."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from qufur.cli import show
from qufur.cli.classes import as_classes, read_labels
from qufur.cli.loop import State, locked, opened
from qufur.cli.options import Json
from qufur.cli.target import on_telling_columns
from qufur.tables import ids, read
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
            book.name_classes(as_classes(classes, "qufur tell") or ())
        names, values, blank = [], [np.empty(0)], 0
        for batch in read(data):
            places, found = read_labels(book, batch, column_called(book.target, batch))
            called = ids(batch, column_called(book.id_column, batch))
            names += [called[place] for place in places.tolist()]
            values.append(found)
            blank += len(batch) - len(places)
        told = book.tell(
            names, np.concatenate(values), data.name, replace=replace, accept_outliers=accept_outliers
        )
        book.save(state)
    left, notes = len(book.learner.outstanding), on_telling_columns(book)
    if json:
        own = {"blank": blank, "outstanding": left} | ({"notes": notes} if notes else {})
        show.print_json(asdict(told) | own)
        return
    print(f"{told.new} labels learned, {told.known} known before, {blank} rows without a label.")
    if told.replaced:
        print(f"{told.replaced} labels were replaced.")
    print(f"{left} labels are outstanding.", *notes, sep="\n")
