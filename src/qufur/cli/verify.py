"""`qufur verify`: integrity check of a store."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._store import StoreArgument, open_store


def verify(store: StoreArgument, json: opt.Json = False) -> None:
    """Verify the hash chain and the streams of a store.

    Each stream is compared with a replay of its log, which takes as long as the original work. A server may
    run meanwhile; if none does, a wrong index or snapshot is rebuilt from the log. Any other damage ends with
    exit code 1.

    Example:
      qufur verify sqlite:///labels.db
    """
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store))
        with suppress(ValueError):  # a server uses the store, or it is read-only
            opened = stack.enter_context(open_store(store, writing=True))
        from qufur.service.erasure import deletions as deletions_of
        from qufur.service.store.events import DamagedError
        from qufur.service.verification import verify as check

        try:
            checked, deleted = check(opened), deletions_of(opened)
        except DamagedError as error:
            _show.print_result(json, {"damage": str(error)}, [str(error)])
            raise typer.Exit(1) from None
    streams, deletions = ([each._asdict() for each in results] for results in (checked, deleted))
    lines = []
    for result in checked:
        remarks = "".join(f"; {remark}" for remark in result.remarks)
        events = counted(result.events, "event")
        lines.append(f"{result.stream}: {events}, digest {result.digest[:16]}…{remarks}")
    for deletion in deleted:
        day = time.strftime("%Y-%m-%d", time.gmtime(deletion.at / 1e6))
        events = counted(deletion.events, "event")
        lines.append(f"{deletion.stream}: deleted on {day} by {deletion.actor}, after {events}.")
    lines.append(f"{counted(len(checked), 'stream')} verified: no damage.")
    _show.print_result(json, {"damage": None, "streams": streams, "deleted": deletions}, lines)
