"""A stream as its log has it: from the last snapshot on, or from the first event."""

from __future__ import annotations

import logging

import msgspec
from sqlalchemy import select

from qufur.service import tables
from qufur.service.description import Description
from qufur.service.events import START, DamagedError, Event, Kind, Payload
from qufur.service.kept_snapshots import kept
from qufur.service.labelled_rows import keep_in_log
from qufur.service.packing import keeps_terms, unpack, unpack_book
from qufur.service.store import Store
from qufur.service.stream import Stream

LOG = logging.getLogger("qufur.service")


def load(store: Store, number: int) -> Stream:
    """Return a stream as it stands after its last event; a damaged snapshot is left aside, a log refused."""
    stream = from_snapshot(store, number) or from_start(store, number)
    catch_up(stream, store)
    stream.book.learner.fit_elsewhere()  # also what events said was fitted: nobody shall wait for it
    return stream


def from_start(store: Store, number: int) -> Stream:
    """Return a stream as it was after its first event."""
    first, payload, description = _first(store, number)
    last = first.seq, first.hash
    if first.kind == Kind.created.value:
        return keep_in_log(Stream(number, description, description.workbook(), last), store)
    if first.kind == Kind.imported.value:
        return Stream(number, description, unpack_book(next(payload.rows())), last)
    raise DamagedError("The log is damaged: it does not begin with the creation of a stream.")


def _first(store: Store, number: int) -> tuple[Event, Payload, Description]:
    first = store.event(number, 1)
    payload = first.check((0, START))
    return first, payload, msgspec.convert(payload.values, Description)


def from_snapshot(store: Store, number: int) -> Stream | None:
    """Return a stream as it was at its last snapshot; None if there is none that can be read."""
    found = kept(store, number)
    if found is None:
        return None
    try:
        if store.event(number, found.seq).hash != found.hash:
            raise DamagedError("A snapshot does not belong to the log.")
        if not keeps_terms(found.packed) and _closes_queries(store, number):
            raise DamagedError("A snapshot of an earlier version lacks terms of queries, which the log has.")
        first, _, description = _first(store, number)
        stream = unpack(number, description, (found.seq, found.hash), found.packed)
        return keep_in_log(stream, store) if first.kind == Kind.created.value else stream
    except Exception as error:  # bytes that are damaged can be wrong in any way, and the log has it all
        LOG.warning("A snapshot of stream %d is left aside: %s", number, error)
        return None


def _closes_queries(store: Store, number: int) -> bool:
    """Return whether queries of a stream were closed without a label at some time."""
    table = tables.events
    kinds = [Kind.untold.value, Kind.retracted.value]
    query = select(table.c.seq).where(table.c.stream == number, table.c.kind.in_(kinds)).limit(1)
    with store.reading() as connection:
        return connection.execute(query).first() is not None


def catch_up(stream: Stream, store: Store, last: int | None = None) -> None:
    """Apply the events up to one, by default the last there is now: who appends may be faster than this."""
    last = store.last(stream.number) if last is None else last
    for event in store.events(stream.number, stream.seq, last - stream.seq):
        stream.apply(event)
