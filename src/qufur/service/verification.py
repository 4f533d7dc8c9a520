"""Verification of a store: hash chain, replay, snapshots and index of examples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Table, delete, func, insert, select, text
from sqlalchemy.exc import DBAPIError

from qufur.service.erasure import deletions
from qufur.service.rebuild import from_start, load, replay_events
from qufur.service.recorded_answers import examples_of
from qufur.service.store import DamagedError, Store, StoreError, reason_of, schema
from qufur.service.store.events import START, Kind

AT_START = 50_000
"""Largest number of events that is checked before the server starts; of examples, ten times as many.

A larger store is checked in the background while the server runs.
"""
PAGE = 500
"""Events per step of a check."""
PAUSE = 0.005
"""Seconds between the steps of a background check."""
REMEDY = "Restore a backup."
Result = TypeVar("Result")


class Verified(NamedTuple):
    """Verified stream.

    Attributes
    ----------
    digest
        Digest of its state after replay of all events.
    remarks
        Damage that was repaired from the log.
    """

    stream: str
    events: int
    digest: str
    remarks: list[str]


def verify(store: Store) -> list[Verified]:
    """Check the complete log of a store, its replay, the snapshots and the index of examples.

    If the store is open for writing, wrong snapshots and a wrong index are repaired; any other damage raises
    `DamagedError`.
    """
    with _reporting_damage():
        _check_file(store)
        _check_spans(store)
        deletions(store)
        return _for_each_stream(store, partial(_verify_stream, store))


def check_at_start(store: Store) -> Callable[[], None] | None:
    """Raise `DamagedError` for a damaged store; return the background check of a large one."""

    def check(pause: float = PAUSE) -> None:
        with _reporting_damage():
            _check_file(store)
            deletions(store)
            _for_each_stream(store, partial(_check_stream, store, repair=pause == 0, pause=pause))

    with _reporting_damage():
        events, examples = _check_spans(store)
    if events > AT_START or examples > 10 * AT_START:
        return check
    check(pause=0)
    return None


def _for_each_stream(store: Store, check: Callable[[str, int], Result]) -> list[Result]:
    """Return the results of a check, without streams that a running server has deleted meanwhile."""
    results = []
    for name, number in sorted(store.streams().items()):
        try:
            results.append(check(name, number))
        except DamagedError:
            if store.streams().get(name) == number:
                raise
    return results


@contextmanager
def _reporting_damage() -> Iterator[None]:
    """Translate exceptions while reading a damaged store to `DamagedError`."""
    try:
        yield
    except (DamagedError, StoreError):
        raise
    except DBAPIError as error:
        reason = reason_of(error)
        if error.connection_invalidated:
            raise StoreError(f"The store cannot be reached: {reason}.") from None
        raise DamagedError(f"The store cannot be read: {reason}. {REMEDY}") from None
    except Exception as error:  # damaged bytes can fail in any way
        raise DamagedError(f"The store is damaged: {type(error).__name__} on reading it. {REMEDY}") from error


def _check_file(store: Store) -> None:
    """Run SQLite's integrity check; PostgreSQL has its own checksums."""
    if store.engine.dialect.name != "sqlite":
        return
    with store.reading() as connection:
        result = connection.scalar(text("PRAGMA integrity_check(1)"))
    if result != "ok":
        words = " ".join(str(result).split()).removeprefix("*** in database main *** ")
        raise DamagedError(f"The store is damaged: {words}. {REMEDY}")


def _check_spans(store: Store) -> tuple[int, int]:
    """Check that the events of each stream are complete; return the numbers of events and examples."""
    with store.reading() as connection:
        # Events last: a server may append meanwhile, and each event precedes its index and snapshot rows.
        snapshots, examples = _spans(connection, schema.snapshots), _spans(connection, schema.examples)
        names = dict(connection.execute(select(schema.streams.c.id, schema.streams.c.name)).all())
        events = _spans(connection, schema.events)
    if set(events) != set(names):
        raise DamagedError(f"The store is damaged: its streams do not match its events. {REMEDY}")
    for stream, (count, first, last) in events.items():
        last_indexed = max(spans.get(stream, (0, 0, 0))[2] for spans in (snapshots, examples))
        if names[stream].startswith(schema.DELETED):
            if count != 1 or last_indexed:
                raise DamagedError(f"The log of a deleted stream is damaged. {REMEDY}")
            continue
        if first != 1 or last != count or last_indexed > last:
            raise DamagedError(f"The log is damaged: events are missing. {REMEDY}")
    return sum(span[0] for span in events.values()), sum(span[0] for span in examples.values())


def _spans(connection: Connection, table: Table) -> dict[int, tuple[int, int, int]]:
    """Return for each stream the number of its rows in a table and their first and last event."""
    columns = table.c.stream, func.count(), func.min(table.c.seq), func.max(table.c.seq)
    rows = connection.execute(select(*columns).group_by(table.c.stream)).all()
    return {stream: (count, first, last) for stream, count, first, last in rows}


def _check_stream(store: Store, name: str, number: int, *, repair: bool, pause: float = 0.0) -> list[str]:
    """Check the hash chain and the index of a stream; return descriptions of repairs."""
    last, examples, is_indexed = (0, START), 0, True
    replaced, recorded = set[tuple[int, bytes]](), set[tuple[int, bytes]]()
    log = store.events(number)
    while events := list(islice(log, PAGE)):
        ids: dict[str, int] = {}
        for event in events:
            payload = event.check(last)
            last = event.seq, event.hash
            if event.seq == 1 and payload.values["name"] != name:
                problem = "the name of a stream does not match its log"
                raise DamagedError(f"The store is damaged: {problem}. {REMEDY}")
            ids.update((id, event.seq) for _, id, _ in examples_of(event, payload))
            if payload.new_header is not None:
                replaced.add((event.seq, payload.new_header))
            if event.kind == Kind.erased.value:
                recorded.update(map(tuple, payload.values.get("headers", ())))
        is_indexed &= store.find(number, list(ids)) == ids
        examples += len(ids)
        time.sleep(pause)
    if not replaced <= recorded:
        seq = min(replaced - recorded)[0]
        problem = "no erasure event records its replaced header"
        raise DamagedError(f"The log is damaged at event {seq}: {problem}. {REMEDY}")
    if is_indexed and _index_size(store, number, last[0]) == examples:
        return []
    if not repair:
        raise DamagedError("The index of examples is damaged. Stop the server: `qufur verify` repairs it.")
    _rebuild_index(store, number)
    return ["the index of examples was rebuilt"]


def _verify_stream(store: Store, name: str, number: int) -> Verified:
    remarks = _check_stream(store, name, number, repair=store.is_writing)
    loaded = load(store, number)
    replayed = from_start(store, number)
    replay_events(replayed, store, loaded.seq)
    digest = replayed.digest()
    if loaded.digest() != digest:
        with store.writing() as connection:
            connection.execute(delete(schema.snapshots).where(schema.snapshots.c.stream == number))
        remarks.append("a snapshot was discarded")
    return Verified(name, replayed.seq, digest, remarks)


def _index_size(store: Store, number: int, last: int) -> int:
    """Return the number of indexed examples in events up to `last`."""
    table = schema.examples
    query = select(func.count()).where(table.c.stream == number, table.c.seq <= last)
    with store.reading() as connection:
        return connection.scalar(query) or 0


def _rebuild_index(store: Store, number: int) -> None:
    """Rebuild the index from the log."""
    with store.writing() as connection:
        connection.execute(delete(schema.examples).where(schema.examples.c.stream == number))
        for event in store.events(number):
            examples = examples_of(event, event.checked_payload())
            rows = [{"stream": number, "id": id, "seq": event.seq} for _, id, _ in examples]
            if rows:
                connection.execute(insert(schema.examples), rows)
