"""`qufur erase`: erase the data of examples from a store."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli._store import DEFAULT, StoreOption, StreamArgument, open_store


def erase(
    stream: StreamArgument,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids of the examples to erase.")
    ] = None,
    store: StoreOption = DEFAULT,
) -> None:
    """Erase the rows and labels of examples from a store.

    The stream is relearned without them. Categories that occur in no other row are erased too. The log keeps
    the number of examples, the decisions, the charges, and a digest for each example. Without ids, the
    command removes what version 0.1.0 left of erased examples. No server may use the store meanwhile; a
    running server erases with POST /v1/streams/STREAM/erase. Backups are not changed.

    Example:
      qufur erase prices row-17 row-42 --store sqlite:///labels.db
    """
    ids = ids or []
    with open_store(store, writing=True) as opened:
        from qufur.service.erasure import erase as erase_examples
        from qufur.service.service import Service

        service = Service(opened)
        parts = erase_examples(service, stream, ids, "qufur erase")
        service.save_snapshots(all_changed=True)
    print(f"{counted(len(ids), 'example')} erased, in {counted(parts, 'part')} of events.")
