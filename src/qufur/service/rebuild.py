"""Streams rebuilt from the log, starting at the last snapshot or at the first event."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

import msgspec
from sqlalchemy import select

from qufur.arrays import Floats
from qufur.ids import Id
from qufur.models.capabilities import Relabels
from qufur.service.config import StreamConfig
from qufur.service.recorded_answers import examples_of
from qufur.service.snapshots import decode_snapshot, decode_workbook, keeps_terms, load_snapshot
from qufur.service.store import Store, StoreError, schema
from qufur.service.store.events import START, DamagedError, Event, Kind, Payload, decode
from qufur.service.stream import Stream

MAX_ROW_BYTES = 2**20
"""Bytes of labelled rows that a stream holds in memory; a change of labels reads later rows from the log."""
LOG = logging.getLogger("qufur.service")


def offload_rows(stream: Stream, store: Store) -> Stream:
    """Make a stream that was created in this store read most of its labelled rows from the log."""

    def read(ids: Sequence[Id]) -> Floats:
        names = [str(id) for id in ids]
        rows = _rows_in(stream.unsaved, set(names))
        rows |= stored_rows(store, stream.number, [name for name in names if name not in rows])
        if len(rows) < len(names):
            raise StoreError(
                "The row of a label is missing in the log: it was erased, or the log is damaged."
            )
        inputs = stream.inputs([rows[name] for name in names])
        return cast(Relabels, stream.workbook.learner.state).stored_rows(inputs)

    stream.workbook.labels.offload_rows(read, MAX_ROW_BYTES)
    return stream


def _rows_in(events: Iterable[Event], ids: Collection[str]) -> dict[str, Any]:
    """Return the rows of these examples, as received, from events."""
    return {
        id: decode(part)[1]
        for event in events
        for _, id, part in examples_of(event, event.checked_payload())
        if id in ids
    }


def stored_rows(store: Store, stream: int, ids: Sequence[str]) -> dict[str, Any]:
    """Return the rows of these examples, as received, from the log, reading each event once."""
    seqs = store.find(stream, ids)
    return _rows_in(store.events_at(stream, sorted(set(seqs.values()))), seqs)


def load(store: Store, number: int) -> Stream:
    """Rebuild a stream from its last snapshot and the events after it.

    A damaged snapshot is ignored; a damaged log raises `DamagedError`.
    """
    stream = from_snapshot(store, number) or from_start(store, number)
    replay_events(stream, store)
    stream.defer_fits()  # also fits that the log records: no request shall wait for them
    return stream


def from_start(store: Store, number: int) -> Stream:
    """Return a stream in the state after its first event."""
    first, payload, config = _first(store, number)
    last = first.seq, first.hash
    if first.kind == Kind.created.value:
        return offload_rows(Stream(number, config, config.workbook(), last), store)
    if first.kind == Kind.imported.value:
        return Stream(number, config, decode_workbook(next(payload.rows())), last)
    raise DamagedError("The log is damaged: it does not begin with the creation of a stream.")


def _first(store: Store, number: int) -> tuple[Event, Payload, StreamConfig]:
    first = store.event(number, 1)
    payload = first.check((0, START))
    return first, payload, msgspec.convert(payload.values, StreamConfig)


def from_snapshot(store: Store, number: int) -> Stream | None:
    """Return a stream from its last snapshot; None if there is no readable one."""
    snapshot = load_snapshot(store, number)
    if snapshot is None:
        return None
    try:
        if store.event(number, snapshot.seq).hash != snapshot.hash:
            raise DamagedError("A snapshot does not belong to the log.")
        if not keeps_terms(snapshot.content) and _closes_queries(store, number):
            raise DamagedError("A snapshot of an earlier version lacks the terms of queries.")
        first, _, config = _first(store, number)
        stream = decode_snapshot(number, config, (snapshot.seq, snapshot.hash), snapshot.content)
        return offload_rows(stream, store) if first.kind == Kind.created.value else stream
    except Exception as error:  # damaged bytes can fail in any way, and the log suffices
        LOG.warning("The snapshot of stream %d is ignored: %s", number, error)
        return None


def _closes_queries(store: Store, number: int) -> bool:
    """Return whether queries of a stream were ever closed without a label."""
    table = schema.events
    kinds = [Kind.untold.value, Kind.retracted.value]
    query = select(table.c.seq).where(table.c.stream == number, table.c.kind.in_(kinds)).limit(1)
    with store.reading() as connection:
        return connection.execute(query).first() is not None


def replay_events(stream: Stream, store: Store, last: int | None = None) -> None:
    """Replay the events up to `last`, by default the current last one.

    The limit is needed: another process may append faster than this one replays.
    """
    last = store.last(stream.number) if last is None else last
    for event in store.events(stream.number, stream.seq, last - stream.seq):
        stream.apply(event)
