"""`qufur predict`: predictions for a table, from the labels so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur.cli import show
from qufur.cli.options import Json
from qufur.cli.workbooks import State, opened, table
from qufur.records import ids, read


def predict(
    data: Annotated[Path, typer.Argument(help="CSV, JSON-lines, Parquet or NPZ file of rows.")],
    state: State,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="CSV of predictions.")],
    json: Json = False,
) -> None:
    """Predict on the rows of a table; nothing is asked for, and nothing changes."""
    book, count = opened(state), 0
    with table(out, [book.id or "row", "prediction", "uncertainty"]) as rows:
        for batch in read(data):
            X = book.encoding.encode(batch)
            columns = ids(batch, book.id), book.learner.predict(X), book.learner.uncertainty(X)
            rows.writerows((id, f"{y:.6g}", f"{u:.4g}") for id, y, u in zip(*columns, strict=True))
            count += len(batch)
    if json:
        show.print_json({"rows": count})
        return
    print(f"{count} rows predicted: written to {out}.")
