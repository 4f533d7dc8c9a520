"""`qufur backup`: a copy of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur.cli.stores import StoreArgument, opened
from qufur.counts import counted
from qufur.errors import invalid


def backup(
    store: StoreArgument,
    file: Annotated[Path, typer.Argument(help="File of the copy, which must be new.")],
) -> None:
    """Copy a store on SQLite to a file and verify the copy, also while a server runs.

    The copy is a store as it stood at one moment, keys included: sqlite:///FILE serves it.
    """
    if file.exists():
        raise invalid("FILE", "qufur backup", "a new file", f"{str(file)!r}, which exists")
    with opened(store) as found:
        from qufur.service.backup import backup as copy

        checked = copy(found, file)
    events = sum(one.events for one in checked)
    print(f"{counted(len(checked), 'stream')}, {counted(events, 'event')}: copied to {file}, and verified.")
