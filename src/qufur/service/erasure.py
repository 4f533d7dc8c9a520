"""Erasure of examples and deletion of streams: the data leaves the log, its digests stay."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from qufur.arrays import Bools
from qufur.service.errors import ConflictError, NotFoundError, UnavailableError
from qufur.service.examples import batch_of
from qufur.service.rebuild import from_start
from qufur.service.service import Service
from qufur.service.store import Store, StoreError, schema
from qufur.service.store.events import DamagedError, Event, Kind, Payload, decode, encode
from qufur.service.store.integrity import checksum
from qufur.service.store.store import SCAN_PAGE, compact
from qufur.service.stream import Stream
from qufur.tables import Encoding
from qufur.tables.categorical import Categorical
from qufur.tables.columns import Kind as Entry
from qufur.tables.columns import Numeric

ENCODING, UNITS = "encoding", "units"
"""Header keys of a grown encoding and of the units of a fit."""
EXAMPLE_KINDS = {Kind.asked, Kind.told, Kind.untold, Kind.retracted, Kind.learned}
"""Kinds of events whose parts belong to examples."""


def erase(service: Service, name: str, ids: Sequence[str], actor: str) -> int:
    """Erase examples of a stream; return the number of erased parts of events.

    Rows and labels are removed, and so are values in headers that only rows erased now or before had.
    Digests, counts and decisions stay: the log can still be verified, and the budget stays charged. Commands
    before this one are committed first. The stream is rebuilt from the remaining log, O(events). Snapshots
    and free pages of the file, which may also hold the rows, are discarded.
    """
    service.commit()
    stream, store = service.stream(name), service.store
    ids = list(dict.fromkeys(ids))
    erased = set(ids)
    _check(store, stream.number, ids)
    redaction = Redaction(stream, len(from_start(store, stream.number).workbook.encoding.columns))
    payloads: dict[int, Payload] = {}
    parts = 0
    for event in store.events(stream.number):
        payload = Payload.from_bytes(event.payload)
        indices = _parts_of(event, payload, erased)
        payload = payload.without(indices)
        redaction.add(event, payload)
        parts += len(indices)
        if indices:
            payloads[event.seq] = payload
    headers = {}
    for event in store.events_at(stream.number, redaction.headers):
        payload = payloads.get(event.seq) or Payload.from_bytes(event.payload)
        rewritten = redaction.rewritten(event, payload)
        if rewritten is not payload:
            payloads[event.seq], headers[event.seq] = rewritten, rewritten.new_header
    if not payloads:
        return 0
    event = stream.log_erasure(len(ids), parts, headers, actor)
    try:
        _rewrite(store, stream.number, payloads, ids, event)
    except (DBAPIError, OSError) as error:
        service.roll_back()  # the other commands of the batch are committed already
        raise UnavailableError("The store cannot be written. Nothing was erased.") from error
    service.reload(name)
    _compact(store, "The examples are erased", "them")
    return parts


class Redaction:
    """Rewriter of event headers: it reads all events in order, and then rewrites some of them.

    A header holds values of rows in two places. A grown encoding holds new categories, and moments of numbers
    that began to vary. A fit holds the mean and the deviation of every input.

    An encoding keeps all its entries, so that inputs keep their positions. A category without remaining rows
    becomes None. Moments become coarse if a row of their event is erased. A fit after an erased row loses its
    units: replay computes them from the remaining rows.

    Parameters
    ----------
    stream
        The stream after the last event of the log.
    initial_entries
        Number of entries of its encoding after the first event. These do not change.

    Attributes
    ----------
    headers
        Numbers of the events to rewrite.
    """

    def __init__(self, stream: Stream, initial_entries: int) -> None:
        self._config, self._encoding = stream.config, stream.workbook.encoding
        self._categories = [
            index
            for index, entry in enumerate(self._encoding.columns)
            if index >= initial_entries and isinstance(entry, Categorical)
        ]
        self._used: Bools = np.zeros(self._one_hot.dim, bool)
        self._lacks_rows = False
        self._grown, self._coarse = initial_entries, set[int]()
        self.headers: list[int] = []

    @cached_property
    def _one_hot(self) -> Encoding:
        columns = self._encoding.columns
        return replace(self._encoding, columns=tuple(columns[index] for index in self._categories))

    def add(self, event: Event, payload: Payload) -> None:
        """Process the next event with the remaining payload."""
        if event.kind == Kind.refitted and self._lacks_rows:
            self.headers.append(event.seq)
        if event.kind not in (Kind.asked, Kind.learned):
            return
        rows = list(filter(None, payload.rows()))
        if rows and self._categories:
            records = [decode(row[0])[1] if event.kind == Kind.learned else row[1] for row in rows]
            self._used |= self._one_hot.encode(batch_of(self._config, records)).any(axis=0)
        lacks_rows = len(rows) < len(payload.parts)
        self._lacks_rows |= lacks_rows
        values = payload.values
        if ENCODING in values:
            self.headers.append(event.seq)
            if not _is_skipped(event):
                start, self._grown = self._grown, len(values[ENCODING]["columns"])
                if lacks_rows:
                    self._coarse.update(range(start, self._grown))

    def rewritten(self, event: Event, payload: Payload) -> Payload:
        """Return the payload of one of the `headers` without the values of erased rows."""
        values = payload.values
        removed = {UNITS, ENCODING} if _is_skipped(event) else {UNITS}
        new: dict[str, Any] = {name: value for name, value in values.items() if name not in removed}
        if ENCODING in new:
            encoding = Encoding.from_state(values[ENCODING])
            columns = self._columns[: len(encoding.columns)]
            new[ENCODING] = replace(encoding, columns=columns).state()
        # A replaced header tells replay that an event without rows still adds inputs.
        is_marked = not payload.is_erased or payload.new_header is not None
        return payload if new == values and is_marked else payload.with_header(new)

    @cached_property
    def _columns(self) -> tuple[Entry, ...]:
        """Entries of the encoding after the last event, without the values of erased rows."""
        columns: list[Entry] = list(self._encoding.columns)
        ends = accumulate((len(columns[index].names) for index in self._categories), initial=0)
        for index, (start, end) in zip(self._categories, pairwise(ends), strict=True):
            columns[index] = columns[index].only(self._used[start:end].tolist())  # type: ignore[attr-defined]
        for index in self._coarse:
            entry = columns[index]
            columns[index] = entry.coarse() if isinstance(entry, Numeric) else entry
        return tuple(columns)


class Deletion(NamedTuple):
    """Deleted stream, as described by its last event.

    Attributes
    ----------
    stream
        Name of the stream.
    events
        Number of events of its log.
    at, actor
        Time of the deletion in microseconds since 1970, and name of the key of the request.
    """

    stream: str
    events: int
    at: int
    actor: str


def delete_stream(service: Service, name: str, actor: str) -> tuple[int, int]:
    """Delete a stream; return the numbers of its events and of revoked keys.

    One event replaces the log and keeps its last hash, so that a deleted stream differs from a missing one.
    The number of the stream stays reserved; its name is free again. Events, examples and snapshots are
    removed in one transaction, and then from the file: O(size of the store). Keys for this stream alone are
    revoked, since a later stream may have the same name.
    """
    service.commit()  # other commands of the batch stay committed if the deletion fails
    stream, store = service.stream(name), service.store
    header = {"name": name, "events": stream.seq, "last": stream.hash}
    last, at = (stream.seq, stream.hash), time.time_ns() // 1000
    event = Event.after(last, Kind.deleted, at, actor, Payload(encode(header)))
    try:
        with store.writing() as connection:
            _replace_log(connection, stream.number, event)
            keys = _revoke_keys(connection, name)
    except (DBAPIError, OSError) as error:
        raise UnavailableError("The store cannot be written. Nothing was deleted.") from error
    service.drop(name)
    _compact(store, "The stream is deleted", "it")
    return event.seq - 1, keys


def deletions(store: Store) -> list[Deletion]:
    """Return the deleted streams of a store, each checked against the hash of its event."""
    streams = schema.streams
    deleted = []
    query = select(streams.c.id).where(streams.c.name.startswith(schema.DELETED)).order_by(streams.c.id)
    with store.reading() as connection:
        numbers = list(connection.execute(query).scalars())
    for number in numbers:
        events = list(store.events(number))
        if [event.kind for event in events] != [Kind.deleted.value]:
            raise DamagedError("The log of a deleted stream is damaged. Restore a backup.")
        event = events[0]
        values = event.checked_payload().values
        event.check((event.seq - 1, values["last"]))
        deleted.append(Deletion(values["name"], values["events"], event.at, event.actor))
    return deleted


def _rewrite(
    store: Store, stream: int, payloads: dict[int, Payload], ids: Sequence[str], event: Event
) -> None:
    """Replace payloads, remove the ids from the index and append the event, in one transaction."""
    events, examples, snapshots = schema.events, schema.examples, schema.snapshots
    with store.writing() as connection:
        for seq, payload in payloads.items():
            where = (events.c.stream == stream) & (events.c.seq == seq)
            connection.execute(update(events).where(where).values(payload=payload.to_bytes()))
        for start in range(0, len(ids), SCAN_PAGE):
            in_page = examples.c.id.in_(ids[start : start + SCAN_PAGE])
            connection.execute(delete(examples).where(examples.c.stream == stream, in_page))
        connection.execute(delete(snapshots).where(snapshots.c.stream == stream))
        connection.execute(insert(events), {"stream": stream, **event._asdict()})


def _compact(store: Store, finished: str, rest: str) -> None:
    try:
        compact(store)
    except StoreError as error:
        message = f"{finished} from the log. {error} Run VACUUM to remove {rest} from the file."
        raise UnavailableError(message) from error


def _check(store: Store, stream: int, ids: Sequence[str]) -> None:
    seqs = store.find(stream, ids)
    missing = [id for id in ids if id not in seqs]
    if missing:
        raise NotFoundError(f"There is no example {ascii(missing[0])[:80]}, or a state file brought it.")
    if store.event(stream, 1).kind == Kind.imported.value and 1 in seqs.values():
        raise ConflictError("An imported example cannot be erased alone: it is part of the state file.")


def _parts_of(event: Event, payload: Payload, ids: Collection[str]) -> list[int]:
    """Return the indices of the parts of an event that belong to these examples."""
    rows = enumerate(payload.rows() if event.kind in EXAMPLE_KINDS else ())
    return [index for index, row in rows if row is not None and _id(event.kind, row) in ids]


def _id(kind: str, row: list[object]) -> object:
    """Return the id of the example of a part; a part with a free label nests the encoded example."""
    return decode(row[0])[0] if kind == Kind.learned.value else row[0]  # type: ignore[arg-type]


def _is_skipped(event: Event) -> bool:
    """Return whether replay skips an event: one of free labels whose rows version 0.1.0 erased completely."""
    stored = Payload.from_bytes(event.payload)
    return event.kind == Kind.learned and stored.is_erased and stored.new_header is None


def _replace_log(connection: Connection, number: int, event: Event) -> None:
    for table in (schema.events, schema.examples, schema.snapshots):
        connection.execute(delete(table).where(table.c.stream == number))
    connection.execute(insert(schema.events), {"stream": number, **event._asdict()})
    streams = schema.streams
    connection.execute(update(streams).where(streams.c.id == number).values(name=f"{schema.DELETED}{number}"))


def _revoke_keys(connection: Connection, name: str) -> int:
    keys = schema.keys
    active = (keys.c.stream == name) & keys.c.revoked.is_(None)
    revoked = connection.execute(update(keys).where(active).values(revoked=int(time.time()))).rowcount
    checksum(connection)
    return revoked
