"""`qufur erase`: examples that a store is to know nothing more of."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.cli.stores import DEFAULT, StoreOption, StreamArgument, opened
from qufur.counts import counted


def erase(
    stream: StreamArgument,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Examples, by id.")],
    store: StoreOption = DEFAULT,
) -> None:
    """Erase examples: their rows and labels leave the log, and the stream is learned again without them.

    What stays is how many there were, what was decided and paid, a digest in the place of each, and what they
    added to the categories of columns. No server may run on the store meanwhile; one that runs erases by
    POST /v1/streams/STREAM/erase. Copies and backups elsewhere are not touched.
    """
    with opened(store, writing=True) as found:
        from qufur.service.erasure import erase as do
        from qufur.service.service import Service

        service = Service(found)
        parts = do(service, stream, ids, "qufur erase")
        service.keep_snapshots(all_changed=True)
    print(f"{counted(len(ids), 'example')} erased, in {counted(parts, 'part')} of events.")
