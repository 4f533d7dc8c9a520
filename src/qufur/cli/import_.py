"""`qufur import`: a state file as a stream of the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur.cli import show
from qufur.cli.options import Json
from qufur.cli.stores import DEFAULT, StoreOption, opened
from qufur.counts import counted
from qufur.storage.lock import locked


def import_(
    file: Annotated[Path, typer.Argument(help="State file of `qufur ask` or `qufur export`.")],
    store: StoreOption = DEFAULT,
    name: Annotated[
        str | None, typer.Option(metavar="STREAM", help="What to call it; by default as the file.")
    ] = None,
    json: Json = False,
) -> None:
    """Let a stream of the service go on where a state file stands; the file stays as it is.

    Rows that wait there wait for labels in the service, and what is decided next is what the file would have
    had decided. No server may run on the store meanwhile.
    """
    with locked(file), opened(store, writing=True) as found:
        from qufur.service.description import described
        from qufur.service.service import Service
        from qufur.service.state_files import read, rows_of

        book, service = read(file), Service(found)
        description = described(name or file.stem, book)
        stream = service.take_in(description, book, rows_of(book, description), "qufur import")
        service.commit()
    if json:
        show.print_json({"name": stream.name, "rows": book.rows, "digest": stream.digest()})
        return
    waiting = f"{len(book.learner.queries)} outstanding"
    print(
        f"Stream {stream.name!r}: {counted(book.rows, 'row')}, {counted(len(book.told), 'label')}, {waiting}."
    )
