"""Deletion of a stream: its log is replaced by one event, which keeps the last hash of the log.

That event tells a deleted stream from one that vanished. The number of the stream stays taken, its name is
free again.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from qufur.service import tables
from qufur.service.compaction import compact
from qufur.service.events import DamagedError, Event, Kind, Payload, encode
from qufur.service.refusals import UnavailableError
from qufur.service.seal import seal
from qufur.service.service import Service
from qufur.service.store import Store, StoreError


class Deletion(NamedTuple):
    """A deleted stream, as its last event describes it.

    Attributes
    ----------
    stream
        The name that it had.
    events
        How many events its log had.
    at, actor
        When it was deleted, in microseconds since 1970, and the name of the key that was used.
    """

    stream: str
    events: int
    at: int
    actor: str


def delete_stream(service: Service, name: str, actor: str) -> tuple[int, int]:
    """Delete a stream, and return how many events it had and how many keys were revoked.

    Events, examples and snapshots are removed in one transaction, and then from the file: O(size of the
    store). Keys for this stream alone are revoked, since a later stream may have the same name.
    """
    service.commit()  # other commands of the group are stored, whatever happens here
    stream, store = service.stream(name), service.store
    header = {"name": name, "events": stream.seq, "last": stream.hash}
    last, at = (stream.seq, stream.hash), time.time_ns() // 1000
    event = Event.after(last, Kind.deleted, at, actor, Payload(encode(header)))
    try:
        with store.writing() as connection:
            _replace_log(connection, stream.number, event)
            keys = _revoke_keys(connection, name)
    except (DBAPIError, OSError) as error:
        raise UnavailableError("The store cannot be written now. Nothing was deleted.") from error
    service.drop(name)
    try:
        compact(store)
    except StoreError as error:
        raise UnavailableError(f"The stream is deleted from the log. {error} VACUUM does it.") from error
    return event.seq - 1, keys


def _replace_log(connection: Connection, number: int, event: Event) -> None:
    for table in (tables.events, tables.examples, tables.snapshots):
        connection.execute(delete(table).where(table.c.stream == number))
    connection.execute(insert(tables.events), {"stream": number, **event._asdict()})
    streams = tables.streams
    connection.execute(update(streams).where(streams.c.id == number).values(name=f"{tables.DELETED}{number}"))


def _revoke_keys(connection: Connection, name: str) -> int:
    keys = tables.keys
    own = (keys.c.stream == name) & keys.c.revoked.is_(None)
    revoked = connection.execute(update(keys).where(own).values(revoked=int(time.time()))).rowcount
    seal(connection)
    return revoked


def deletions(store: Store) -> list[Deletion]:
    """Return the deleted streams of a store, each checked against the hash of its event."""
    streams, found = tables.streams, []
    query = select(streams.c.id).where(streams.c.name.startswith(tables.DELETED)).order_by(streams.c.id)
    with store.reading() as connection:
        numbers = list(connection.execute(query).scalars())
    for number in numbers:
        events = list(store.events(number))
        if [event.kind for event in events] != [Kind.deleted.value]:
            raise DamagedError("The log of a deleted stream is damaged. Restore a backup.")
        event = events[0]
        values = event.opened().values
        event.check((event.seq - 1, values["last"]))
        found.append(Deletion(values["name"], values["events"], event.at, event.actor))
    return found
