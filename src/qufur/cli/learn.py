"""`qufur learn`: labels that exist already."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from qufur.bookkeeping.free_labels import Learned, labelled
from qufur.bookkeeping.free_labels import learn as learn_labels
from qufur.cli import show
from qufur.cli.changes import commit
from qufur.cli.classes import read_labels
from qufur.cli.columns import Columns
from qufur.cli.growth import grow
from qufur.cli.loop import Rows, State, digest_of, locked, opened, tables_at
from qufur.cli.options import TABLE, AddColumn, Decimal, Impute, Json, Separator
from qufur.tables.source import Source


def learn(
    data: Annotated[Path, typer.Argument(help=f"{TABLE} with labels; rows without a label are left out.")],
    state: State,
    accept_outliers: Annotated[
        bool, typer.Option("--accept-outliers", help="Take labels that are far out of range as they are.")
    ] = False,
    impute: Impute = False,
    sep: Separator = None,
    decimal: Decimal = None,
    add_column: AddColumn = None,
    json: Json = False,
) -> None:
    """Learn the labels of a table that has them already.

    It has the columns of the tables of `qufur ask`, and that of labels. They cost no budget. A row that waits
    for its label gets it; the others count as seen, and are not asked about any more. If one row is wrong,
    none is learned.
    """
    with locked(state):
        book = opened(state)
        for file in tables_at(data).values():
            book.note_table(digest_of(file), file.name)
        source = Source(data, sep, decimal)
        total, notes = grow(book, source, Columns(impute=impute, add_column=add_column), quiet=json)
        rows = Rows(source, None if json else "Reading", text=book.encoding.text is not None, total=total)
        learned = learn_labels(
            book, labelled(book, rows, partial(read_labels, book)), accept_outliers=accept_outliers
        )
        if learned.free or learned.outstanding:
            commit(book, state, f"learn {data.name}", f"{learned.free + learned.outstanding} labels learned")
    if json:
        left = {"outstanding_left": len(book.learner.outstanding), "notes": notes}
        show.print_json(asdict(learned) | left)
        return
    _print(learned, len(book.learner.outstanding), notes)


def _print(learned: Learned, outstanding: int, notes: list[str]) -> None:
    count, blank = learned.free + learned.outstanding, learned.blank
    print(f"{count} labels learned, {learned.known} known before, {blank} rows without a label.")
    if learned.outstanding:
        print(f"{learned.outstanding} of them had been asked for; the others cost nothing.")
    print(f"{outstanding} labels are outstanding.", *notes, sep="\n")
