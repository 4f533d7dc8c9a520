"""The rows of labels, which are in the log: all of them are needed only where labels are changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from qufur.arrays import Floats
from qufur.models.base import Id
from qufur.service.events import Event, decode
from qufur.service.logged import examples_of
from qufur.service.store import Store, StoreError
from qufur.service.stream import Stream

ROOM = 2**20
"""Bytes of rows that a stream holds in memory; those of later labels are read from the log when needed."""


def keep_in_log(stream: Stream, store: Store) -> Stream:
    """Let a stream that began in this store read the rows of most of its labels from there."""

    def read(ids: Sequence[Id]) -> Floats:
        found = _rows(stream, store, [str(id) for id in ids])
        return stream.book.learner.state.as_pending(stream.inputs([found[str(id)] for id in ids]))

    stream.book.told.keep_elsewhere(read, ROOM)
    return stream


def _rows(stream: Stream, store: Store, ids: Sequence[str]) -> dict[str, Any]:
    """Return examples as they came, each event read once."""
    wanted = set(ids)
    found = _rows_in(stream.unsaved, wanted)
    places = store.find(stream.number, [id for id in ids if id not in found])
    found |= _rows_in(store.events_at(stream.number, sorted(set(places.values()))), wanted)
    if len(found) < len(wanted):
        text = "The row of a label is no longer in the log: it was erased meanwhile, or the log is damaged."
        raise StoreError(text)
    return found


def _rows_in(events: Iterable[Event], wanted: set[str]) -> dict[str, Any]:
    return {
        id: decode(part)[1]
        for event in events
        for _, id, part in examples_of(event, event.opened())
        if id in wanted
    }
