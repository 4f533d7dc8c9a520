"""`qufur verify`: integrity check of a store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._store import StoreArgument, open_store

if TYPE_CHECKING:
    from qufur.service.store import Store


def verify(store: StoreArgument, json: opt.Json = False) -> None:
    """Verify the hash chain and the streams of a store.

    Each stream is compared with a replay of its log, which takes as long as the original work. A server may
    run meanwhile; if none does, a wrong index or snapshot is rebuilt from the log. Any other damage ends with
    exit code 1.

    Example:
      qufur verify sqlite:///labels.db
    """
    with _open_for_repair(store) as opened:
        from qufur.service.erasure import deletions
        from qufur.service.store.events import DamagedError
        from qufur.service.verification import verify as check

        try:
            checked, deleted = check(opened), deletions(opened)
        except DamagedError as error:
            if json:
                _show.print_json({"damage": str(error)})
            else:
                print(error)
            raise typer.Exit(1) from None
    if json:
        _show.print_json(
            {
                "damage": None,
                "streams": [stream._asdict() for stream in checked],
                "deleted": [stream._asdict() for stream in deleted],
            }
        )
        return
    for result in checked:
        remarks = "".join(f"; {remark}" for remark in result.remarks)
        print(f"{result.stream}: {counted(result.events, 'event')}, digest {result.digest[:16]}…{remarks}")
    for deletion in deleted:
        day = time.strftime("%Y-%m-%d", time.gmtime(deletion.at / 1e6))
        events = counted(deletion.events, "event")
        print(f"{deletion.stream}: deleted on {day} by {deletion.actor}, after {events}.")
    print(f"{counted(len(checked), 'stream')} verified: no damage.")


@contextmanager
def _open_for_repair(url: str) -> Iterator[Store]:
    """Open an existing store for writing, or for reading if a server uses it or it is read-only."""
    with ExitStack() as stack:
        store = stack.enter_context(open_store(url))
        with suppress(ValueError):
            store = stack.enter_context(open_store(url, writing=True))
        yield store
