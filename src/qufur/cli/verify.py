"""`qufur verify`: whether a store is what was written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from qufur.cli import show
from qufur.cli.options import Json
from qufur.cli.stores import StoreArgument, opened
from qufur.counts import counted

if TYPE_CHECKING:
    from qufur.service.store import Store


def verify(store: StoreArgument, json: Json = False) -> None:
    """Check a store: every event against the one before, and every stream against its log.

    Streams are made again from their first events, so that it takes as long as their work did. A server may
    run meanwhile; if none does, an index or a snapshot that is wrong is made again from the log. If something
    else is not what was written, the exit code is 1.
    """
    with _opened(store) as found:
        from qufur.service.deletion import deletions
        from qufur.service.events import DamagedError
        from qufur.service.verification import verify as check

        try:
            checked, deleted = check(found), deletions(found)
        except DamagedError as error:
            if json:
                show.print_json({"damage": str(error)})
            else:
                print(error)
            raise typer.Exit(1) from None
    if json:
        show.print_json(
            {
                "damage": None,
                "streams": [one._asdict() for one in checked],
                "deleted": [one._asdict() for one in deleted],
            }
        )
        return
    for one in checked:
        remarks = "".join(f"; {remark}" for remark in one.remarks)
        print(f"{one.stream}: {counted(one.events, 'event')}, digest {one.digest[:16]}…{remarks}")
    for gone in deleted:
        day = time.strftime("%Y-%m-%d", time.gmtime(gone.at / 1e6))
        print(f"{gone.stream}: deleted on {day} by {gone.actor}, after {counted(gone.events, 'event')}.")
    streams = "1 stream is" if len(checked) == 1 else f"{len(checked)} streams are"
    print(f"{streams} what was written.")


@contextmanager
def _opened(url: str) -> Iterator[Store]:
    """Open a store that is there, to be repaired unless a server has it or nobody may write to it."""
    with ExitStack() as stack:
        found = stack.enter_context(opened(url))
        with suppress(ValueError):
            found = stack.enter_context(opened(url, writing=True))
        yield found
