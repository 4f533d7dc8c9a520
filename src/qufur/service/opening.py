"""What is done to a store when it is opened for writing: is it whole, and whose turn is it to write."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import Connection, Engine, insert, inspect, select, update

from qufur.service import tables
from qufur.service.events import DamagedError, Kind
from qufur.service.fence import FencedError
from qufur.service.mark import Last, Mark
from qufur.service.seal import check_seal, is_unsealed, seal

EPOCH = "epoch"


def next_epoch(connection: Connection) -> int:
    """Take over writing; a store that is new gets its facts."""
    query = select(tables.facts.c.value).where(tables.facts.c.name == EPOCH)
    found = connection.execute(query.with_for_update()).scalar()
    if found is None and is_unsealed(connection):
        first = {"version": str(tables.VERSION), "secret": secrets.token_hex(32), EPOCH: "1"}
        connection.execute(insert(tables.facts), [{"name": k, "value": v} for k, v in first.items()])
        seal(connection)
        return 1
    check_seal(connection)
    epoch = int(str(found)) + 1
    connection.execute(update(tables.facts).where(tables.facts.c.name == EPOCH).values(value=str(epoch)))
    seal(connection)
    return epoch


def query_of_epoch(engine: Engine) -> str:
    """Return what is asked of the database before each write; nobody changes the answer until its end."""
    lock = "" if engine.dialect.name == "sqlite" else " FOR UPDATE"
    return f"SELECT value FROM facts WHERE name = '{EPOCH}'{lock}"


def check_epoch(found: Sequence[str] | None, epoch: int) -> None:
    """Refuse to write once another process may, by what the database answered."""
    if found is None or found[0] != str(epoch):
        raise FencedError("Another server has taken over this store.")


def check_mark(connection: Connection, mark: Mark) -> None:
    """Refuse a store that lacks the last event that was written to it."""
    last = mark.read()
    if last is None:
        return
    table = tables.events
    query = select(table.c.hash).where(table.c.stream == last[0], table.c.seq == last[1])
    if connection.execute(query).scalar() != last[2] and not _is_deleted(connection, last):
        remedy = f"Restore a backup; if this is one, remove {mark.path}."
        raise DamagedError(f"The log is damaged: the last events are missing. {remedy}")


def _is_deleted(connection: Connection, last: Last) -> bool:
    """Return whether the stream of an event was deleted later."""
    table = tables.events
    later = table.c.stream == last[0], table.c.seq > last[1], table.c.kind == Kind.deleted.value
    return connection.execute(select(table.c.seq).where(*later)).first() is not None


def check_tables(connection: Connection) -> None:
    """Refuse a store that lacks some of its tables; one that lacks all of them is new."""
    there = set(inspect(connection).get_table_names()) & set(tables.metadata.tables)
    for name in tables.metadata.tables:
        if there and name not in there:
            raise DamagedError(f"The store is damaged: it has no table {name!r}. Restore a backup.")
