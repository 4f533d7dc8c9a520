"""`qufur export`: a stream of the service as a state file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur.cli import show
from qufur.cli.options import Json
from qufur.cli.stores import DEFAULT, StoreOption, StreamArgument, opened
from qufur.counts import counted
from qufur.errors import invalid
from qufur.storage.lock import locked


def export(
    stream: StreamArgument,
    file: Annotated[Path, typer.Argument(help="State file to write, which must be new.")],
    store: StoreOption = DEFAULT,
    json: Json = False,
) -> None:
    """Write a stream of the service to a state file, with which `qufur ask` and the others go on.

    The service may run meanwhile, and knows nothing of what is done with the file. The rows are named by the
    column 'id', and labels are in the column 'label'.
    """
    with locked(file), opened(store) as found:
        if file.exists():
            raise invalid("FILE", "qufur export", "a new file", f"{str(file)!r}, which exists")
        from qufur.service.state_files import export as write

        written = write(found, stream, file)
    counts = {"rows": written.book.rows, "labels": len(written.book.told), "events": written.seq}
    counts |= {"outstanding": len(written.book.learner.queries), "reopened": len(written.reopened)}
    if json:
        show.print_json(counts | {"digest": written.digest()})
        return
    outstanding = f"{counts['outstanding']} outstanding"
    rows, labels = counted(counts["rows"], "row"), counted(counts["labels"], "label")
    print(f"{rows}, {labels}, {outstanding}: written to {file}.")
    if written.reopened:
        reopened = counted(
            counts["reopened"], "row whose label was taken back does", "rows whose label was taken back do"
        )
        print(f"{reopened} not wait in the file.")
