"""Single-writer protection and the checks on opening a store for writing.

Two mechanisms ensure that one process writes. A lock stops a second server from starting. An epoch, compared
in each transaction, stops a server whose store another process took over without the lock.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial

from sqlalchemy import Connection, Engine, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError

from qufur.service.store import schema
from qufur.service.store.events import DamagedError, Kind
from qufur.service.store.integrity import HighWaterMark, checksum, is_empty, verify_checksum

ADVISORY_LOCK = 0x71756675725F31
"""Number of the advisory lock in PostgreSQL."""
EPOCH = "epoch"


class FencedError(RuntimeError):
    """Another process writes to the store, or has taken it over."""


def acquire_write_lock(engine: Engine, *, takeover: bool) -> Callable[[], None] | None:
    """Acquire the right to write; return the function that releases it.

    With `takeover`, return None if another process holds the lock: this process writes without it. The lock
    belongs to the process and ends with it, even after a crash. No clock is involved.
    """
    release = _lock_file(engine) if engine.dialect.name == "sqlite" else _lock_advisory(engine)
    if release is None and not takeover:
        remedy = "Stop it, or give `takeover=True`, which ends its right to write."
        raise FencedError(f"Another server writes to this store. {remedy}")
    return release


def next_epoch(connection: Connection) -> int:
    """Start the next epoch of writing and return it; initialise the facts of a new store."""
    query = select(schema.facts.c.value).where(schema.facts.c.name == EPOCH)
    last = connection.scalar(query.with_for_update())
    if last is None and is_empty(connection):
        first = {"version": str(schema.VERSION), "secret": secrets.token_hex(32), EPOCH: "1"}
        connection.execute(insert(schema.facts), [{"name": k, "value": v} for k, v in first.items()])
        checksum(connection)
        return 1
    verify_checksum(connection)
    epoch = int(str(last)) + 1
    connection.execute(update(schema.facts).where(schema.facts.c.name == EPOCH).values(value=str(epoch)))
    checksum(connection)
    return epoch


def epoch_query(engine: Engine) -> str:
    """Return the query of the epoch at the start of a write; it locks the row until the transaction ends."""
    lock = "" if engine.dialect.name == "sqlite" else " FOR UPDATE"
    return f"SELECT value FROM facts WHERE name = '{EPOCH}'{lock}"


def check_epoch(row: Sequence[str] | None, epoch: int) -> None:
    """Raise `FencedError` unless the result of `epoch_query` is this epoch."""
    if row is None or row[0] != str(epoch):
        raise FencedError("Another server has taken over this store.")


def check_mark(connection: Connection, mark: HighWaterMark) -> None:
    """Raise `DamagedError` if the store lacks the last event of the high-water mark."""
    last = mark.read()
    if last is None:
        return
    table, (stream, seq, hash) = schema.events, last
    found = connection.scalar(select(table.c.hash).where(table.c.stream == stream, table.c.seq == seq))
    is_deletion = table.c.seq > seq, table.c.kind == Kind.deleted.value
    deletion = connection.scalar(select(table.c.seq).where(table.c.stream == stream, *is_deletion))
    if found != hash and deletion is None:
        remedy = f"Restore a backup; if this is one, remove {mark.path}."
        raise DamagedError(f"The log is damaged: the last events are missing. {remedy}")


def check_tables(connection: Connection) -> None:
    """Raise `DamagedError` if some tables are missing; a store without any table is new."""
    existing = set(inspect(connection).get_table_names()) & set(schema.metadata.tables)
    for name in schema.metadata.tables:
        if existing and name not in existing:
            raise DamagedError(f"The store is damaged: it has no table {name!r}. Restore a backup.")


def _lock_file(engine: Engine) -> Callable[[], None] | None:
    from filelock import FileLock, Timeout

    lock = FileLock(f"{engine.url.database}.lock", blocking=False)
    if not os.path.isdir(os.path.dirname(os.path.abspath(lock.lock_file))):  # FileLock would create it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock.release


def _lock_advisory(engine: Engine) -> Callable[[], None] | None:
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    if connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": ADVISORY_LOCK}):
        connection.detach()  # the lock belongs to this connection, which must not return to the pool
        return partial(_release_advisory, connection)
    connection.close()
    return None


def _release_advisory(connection: Connection) -> None:
    """Release the lock immediately: the server would do so some time after the connection is closed."""
    with closing(connection), suppress(DBAPIError):  # a lost connection has released it
        connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": ADVISORY_LOCK})
