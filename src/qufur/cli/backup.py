"""`qufur backup`: a copy of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli._store import StoreArgument, open_store
from qufur.errors import invalid


def backup(
    store: StoreArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the copy, which must be new.")],
) -> None:
    """Copy a SQLite store to a file and verify the copy. A server may run meanwhile.

    The copy is a consistent snapshot, including keys; sqlite:///FILE serves it.

    Example:
      qufur backup sqlite:///labels.db backup.db
    """
    if file.exists():
        raise invalid("FILE", "qufur backup", "a new file", f"{str(file)!r}, which exists")
    with open_store(store) as opened:
        from qufur.service.backup import backup as copy

        checked = copy(opened, file)
    events = sum(stream.events for stream in checked)
    print(f"{counted(len(checked), 'stream')}, {counted(events, 'event')}: copied to {file}, and verified.")
