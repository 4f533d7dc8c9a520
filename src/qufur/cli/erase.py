"""`qufur erase`: examples that a store is to know nothing more of."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.cli.stores import DEFAULT, StoreOption, StreamArgument, opened
from qufur.counts import counted


def erase(
    stream: StreamArgument,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Examples, by id.")] = None,
    store: StoreOption = DEFAULT,
) -> None:
    """Erase examples: their rows and labels leave the log, and the stream is learned again without them.

    Categories that only they had leave the encoding as well. What stays is how many there were, what was
    decided and paid, and a digest in the place of each. Without ids, it clears what version 0.1.0 left of
    examples that it erased. No server may run on the store meanwhile; one that runs erases by
    POST /v1/streams/STREAM/erase. Copies and backups elsewhere are not touched.
    """
    ids = ids or []
    with opened(store, writing=True) as found:
        from qufur.service.erasure import erase as do
        from qufur.service.service import Service

        service = Service(found)
        parts = do(service, stream, ids, "qufur erase")
        service.keep_snapshots(all_changed=True)
    print(f"{counted(len(ids), 'example')} erased, in {counted(parts, 'part')} of events.")
