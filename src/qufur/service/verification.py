"""Whether a store is what was written: the log, what follows from it, and what is found by it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Table, delete, func, insert, select, text
from sqlalchemy.exc import DBAPIError

from qufur.service import tables
from qufur.service.deletion import deletions
from qufur.service.events import START, DamagedError, Event, Kind
from qufur.service.loading import catch_up, from_start, load
from qufur.service.logged import examples_of
from qufur.service.store import Store, StoreError, reason_of

AT_START = 50_000
"""Events, and ten times as many examples, that are all checked before a store is served."""
AT_ONCE = 500
PAUSE = 0.005
"""Seconds between so many events where they are checked beside the work."""
REMEDY = "Restore a backup."
Result = TypeVar("Result")


class Verified(NamedTuple):
    """A stream of which everything is as it was written.

    Attributes
    ----------
    digest
        Of its state, by replay of all events.
    remarks
        What was not, could be made again from the log, and has been.
    """

    stream: str
    events: int
    digest: str
    remarks: list[str]


def verify(store: Store) -> list[Verified]:
    """Check everything in a store: the whole log, what it leads to, snapshots, and the index of examples.

    Snapshots and the index are made again where they are wrong, if the store was opened for writing; whatever
    else is wrong raises `DamagedError`.
    """
    with _reading_what_may_be_damaged():
        _check_file(store)
        _check_spans(store)
        deletions(store)
        return [
            one
            for name, number in sorted(store.streams().items())
            if (one := _unless_deleted(store, name, number, _verified)) is not None
        ]


def check_at_start(store: Store) -> Callable[[], None] | None:
    """Refuse a store that is damaged; of a large one, return what is to be called beside the work."""

    def check(pause: float = PAUSE) -> None:
        with _reading_what_may_be_damaged():
            _check_file(store)
            deletions(store)
            check_one = partial(_check_stream, repair=pause == 0, pause=pause)
            for name, number in store.streams().items():
                _unless_deleted(store, name, number, check_one)

    with _reading_what_may_be_damaged():
        events = _check_spans(store)
        with store.reading() as connection:
            examples = sum(count for count, *_ in _spans(connection, tables.examples).values())
    if events > AT_START or examples > 10 * AT_START:
        return check
    check(pause=0)
    return None


def _unless_deleted(
    store: Store, name: str, number: int, check: Callable[[Store, str, int], Result]
) -> Result | None:
    """Return the result of a check; None if a server that runs meanwhile has deleted the stream."""
    try:
        return check(store, name, number)
    except DamagedError:
        if store.streams().get(name) == number:
            raise
        return None


@contextmanager
def _reading_what_may_be_damaged() -> Iterator[None]:
    """Say in one sentence what is wrong, whatever happens on the way to it."""
    try:
        yield
    except (DamagedError, StoreError):
        raise
    except DBAPIError as error:
        reason = reason_of(error)
        if error.connection_invalidated:
            raise StoreError(f"The store cannot be reached: {reason}.") from None
        raise DamagedError(f"The store cannot be read: {reason}. {REMEDY}") from None
    except Exception as error:  # bytes that are damaged can be wrong in any way
        raise DamagedError(f"The store is damaged: {type(error).__name__} on reading it. {REMEDY}") from error


def _check_file(store: Store) -> None:
    """Let SQLite look at its pages; PostgreSQL has checksums of its own."""
    if store.engine.dialect.name != "sqlite":
        return
    with store.reading() as connection:
        found = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
    if found != "ok":
        words = " ".join(str(found).split()).removeprefix("*** in database main *** ")
        raise DamagedError(f"The store is damaged: {words}. {REMEDY}")


def _check_spans(store: Store) -> int:
    """Check that each stream has events from the first on, and each event a stream; return how many."""
    with store.reading() as connection:
        # Events last: somebody may append meanwhile, and what is found by events comes with them.
        later = [_spans(connection, table) for table in (tables.snapshots, tables.examples)]
        rows = connection.execute(select(tables.streams.c.id, tables.streams.c.name))
        names = {row.id: row.name for row in rows}
        events = _spans(connection, tables.events)
    if set(events) != set(names):
        raise DamagedError(f"The store is damaged: its streams are not those of its events. {REMEDY}")
    for stream, (count, first, last) in events.items():
        known = max(spans.get(stream, (0, 0, 0))[2] for spans in later)
        if names[stream].startswith(tables.DELETED):
            if count != 1 or known:
                raise DamagedError(f"The log of a deleted stream is damaged. {REMEDY}")
            continue
        if first != 1 or last != count or known > last:
            raise DamagedError(f"The log is damaged: events are missing. {REMEDY}")
    return sum(count for count, *_ in events.values())


def _spans(connection: Connection, table: Table) -> dict[int, tuple[int, int, int]]:
    """Return for each stream how many rows of a table it has, and their first and last event."""
    columns = table.c.stream, func.count(), func.min(table.c.seq), func.max(table.c.seq)
    rows = connection.execute(select(*columns).group_by(table.c.stream)).all()
    return {stream: (count, first, last) for stream, count, first, last in rows}


def _check_stream(store: Store, name: str, number: int, *, repair: bool, pause: float = 0.0) -> list[str]:
    """Check the chain and the index; return what was repaired."""
    last, examples, found = (0, START), 0, True
    replaced, stated = set[tuple[int, bytes]](), set[tuple[int, bytes]]()
    for events in _groups(store, number):
        ids: dict[str, int] = {}
        for event in events:
            payload = event.check(last)
            last = event.seq, event.hash
            if event.seq == 1 and payload.values["name"] != name:
                raise DamagedError(f"The store is damaged: a stream has another name. {REMEDY}")
            ids.update((id, event.seq) for _, id, _ in examples_of(event, payload))
            if payload.new_header is not None:
                replaced.add((event.seq, payload.new_header))
            if event.kind == Kind.erased.value:
                stated.update(map(tuple, payload.values.get("headers", ())))
        found &= store.find(number, list(ids)) == ids
        examples += len(ids)
        time.sleep(pause)
    if not replaced <= stated:
        seq = min(replaced - stated)[0]
        text = f"The log is damaged at event {seq}: no erasure replaced its header by the one that is there."
        raise DamagedError(f"{text} {REMEDY}")
    if found and _indexed(store, number, last[0]) == examples:
        return []
    if not repair:
        raise DamagedError("The index of examples is damaged. Stop the server: `qufur verify` repairs it.")
    _rebuild_index(store, number)
    return ["the index of examples was made again"]


def _verified(store: Store, name: str, number: int) -> Verified:
    remarks = _check_stream(store, name, number, repair=store.is_writing)
    loaded = load(store, number)
    replayed = from_start(store, number)
    catch_up(replayed, store, loaded.seq)
    digest = replayed.digest()
    if loaded.digest() != digest:
        with store.writing() as connection:
            connection.execute(delete(tables.snapshots).where(tables.snapshots.c.stream == number))
        remarks.append("a snapshot was thrown away")
    return Verified(name, replayed.seq, digest, remarks)


def _indexed(store: Store, number: int, last: int) -> int:
    """Return how many examples the index has in events up to the last that was looked at."""
    table = tables.examples
    query = select(func.count()).where(table.c.stream == number, table.c.seq <= last)
    with store.reading() as connection:
        return connection.execute(query).scalar() or 0


def _groups(store: Store, number: int) -> Iterator[list[Event]]:
    events = store.events(number)
    while group := list(islice(events, AT_ONCE)):
        yield group


def _rebuild_index(store: Store, number: int) -> None:
    """Make the index again from the log."""
    with store.writing() as connection:
        connection.execute(delete(tables.examples).where(tables.examples.c.stream == number))
        for event in store.events(number):
            examples = examples_of(event, event.opened())
            rows = [{"stream": number, "id": id, "seq": event.seq} for _, id, _ in examples]
            if rows:
                connection.execute(insert(tables.examples), rows)
