"""One writer for each store: a lock for those who ask, and an epoch for those who do not."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

LOCK = 0x71756675725F31
"""The number of the advisory lock in PostgreSQL."""


class FencedError(RuntimeError):
    """Another process writes, or has taken over."""


class Hold(NamedTuple):
    """The right to write, until it is released; perhaps taken from another process."""

    release: Callable[[], None]
    from_another: bool = False


def hold(engine: Engine, *, takeover: bool) -> Hold:
    """Take the right to write; where another process has it, refuse, or with `takeover` do without a lock.

    The lock belongs to the process, and goes when that ends in whatever way. No clock is involved.
    """
    held = _hold_file(engine) if engine.dialect.name == "sqlite" else _hold_advisory(engine)
    if held is None and not takeover:
        remedy = "Stop it, or give --takeover, which ends its right to write."
        raise FencedError(f"Another server writes to this store. {remedy}")
    return held or Hold(lambda: None, from_another=True)


def _hold_file(engine: Engine) -> Hold | None:
    from filelock import FileLock, Timeout

    lock = FileLock(f"{engine.url.database}.lock", blocking=False)
    if not os.path.isdir(os.path.dirname(os.path.abspath(lock.lock_file))):  # or the lock would make it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    try:
        lock.acquire()
    except Timeout:
        return None
    return Hold(lock.release)


def _hold_advisory(engine: Engine) -> Hold | None:
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    if connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}).scalar():
        connection.detach()  # the lock belongs to this connection, which must not return to the pool
        return Hold(partial(_release_advisory, connection))
    connection.close()
    return None


def _release_advisory(connection: Connection) -> None:
    """Release the lock now: the server would release it some time after the connection is closed."""
    with closing(connection), suppress(DBAPIError):  # a lost connection has released it
        connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})
