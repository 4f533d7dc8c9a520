"""`qufur predict`: predictions for a table, from the labels so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur.cli import show
from qufur.cli.growth import on_prediction
from qufur.cli.loop import Rows, State, files_of, opened, table, tables_at
from qufur.cli.options import TABLE, WRITTEN, Decimal, Force, Impute, Json, Separator
from qufur.cli.outputs import check_answered, check_table
from qufur.cli.predictions import Predictions
from qufur.counts import counted
from qufur.tables import Growth, ids
from qufur.tables.source import Source
from qufur.tables.written import free, heading


def predict(
    data: Annotated[Path, typer.Argument(help=f"{TABLE} of rows.")],
    state: State,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help=f"{WRITTEN} of predictions.")],
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Add low and high, for such a share of labels to lie between: 0.9."
        ),
    ] = None,
    text_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model that reads text, to let it be fetched.")
    ] = None,
    impute: Impute = False,
    sep: Separator = None,
    decimal: Decimal = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict on the rows of a table; nothing is asked for, and nothing changes."""
    check_table(out, files_of(state) | tables_at(data))
    book = opened(state)
    if not force:
        check_answered(book, out)
    if text_model is not None:
        book.encoding.fetch(text_model)
    rows = Rows(
        Source(data, sep, decimal, book.dialect),
        None if json else "Predicting",
        text=book.encoding.text is not None,
    )
    growth = Growth(book.encoding, impute=impute)
    encoding = growth.known
    id = heading(book.id or "row")
    predictions = Predictions(book, interval)
    with table(out, [id, *(free(name, {id}) for name in predictions.headings)]) as write:
        for batch in rows:
            growth.add(batch)
            write(zip(ids(batch, book.id), *predictions.columns(encoding.encode(batch)), strict=True))
    notes = [*rows.file.notes, *on_prediction(growth), *predictions.notes()]
    if json:
        show.print_json({"rows": rows.count, "notes": notes})
        return
    print(f"{counted(rows.count, 'row')} predicted: written to {out}.", *notes, sep="\n")
