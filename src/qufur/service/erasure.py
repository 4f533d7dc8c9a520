"""Examples that are erased: what they were leaves the log, and what they cost stays in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import delete, insert, update
from sqlalchemy.exc import DBAPIError

from qufur.service import tables
from qufur.service.compaction import compact
from qufur.service.events import Event, Kind, Payload, decode
from qufur.service.loading import from_start
from qufur.service.redaction import Redaction
from qufur.service.refusals import ConflictError, NotFoundError, UnavailableError
from qufur.service.service import Service
from qufur.service.store import AT_ONCE, Store, StoreError

OF_EXAMPLES = {Kind.asked, Kind.told, Kind.untold, Kind.retracted, Kind.learned}
"""Kinds of events whose parts are of examples."""


def erase(service: Service, name: str, ids: Sequence[str], actor: str) -> int:
    """Erase examples of a stream, and return how many parts of events were theirs.

    Rows and labels go, and so do values in headers that only these rows had, or rows erased before. Digests,
    counts and decisions stay, so that the log still proves itself and what was paid stays paid. The stream is
    made again from what is left, O(events). All that came before is written first. What else may hold the
    rows is thrown away: snapshots, and pages of the file that are free.
    """
    service.commit()
    stream, store = service.stream(name), service.store
    ids = list(dict.fromkeys(ids))
    _check(store, stream.number, ids)
    redaction = Redaction(stream, len(from_start(store, stream.number).book.encoding.columns))
    left, parts = {}, 0
    for event, places in _places(store, stream.number, set(ids)):
        payload = Payload.unpacked(event.payload).without(places)
        redaction.add(event, payload)
        parts += len(places)
        if places:
            left[event.seq] = payload
    headers = {}
    for event in store.events_at(stream.number, redaction.headers):
        payload = left.get(event.seq) or Payload.unpacked(event.payload)
        rewritten = redaction.rewritten(event, payload)
        if rewritten is not payload:
            left[event.seq], headers[event.seq] = rewritten, rewritten.new_header
    if not left:
        return 0
    event = stream.note_erased(len(ids), parts, headers, actor)
    try:
        _rewrite(store, stream.number, left, ids, event)
    except (DBAPIError, OSError) as error:
        # What others sent with it is written: for them nothing went wrong.
        service.forget()
        raise UnavailableError("The store cannot be written now. Nothing was erased.") from error
    service.reload(name)
    try:
        compact(store)
    except StoreError as error:
        raise UnavailableError(f"The examples are erased from the log. {error} VACUUM does it.") from error
    return parts


def _rewrite(store: Store, stream: int, left: dict[int, Payload], ids: Sequence[str], event: Event) -> None:
    """Leave of some events what is given, and say so in a last one: all of it or nothing."""
    events, examples, snapshots = tables.events, tables.examples, tables.snapshots
    with store.writing() as connection:
        for seq, payload in left.items():
            where = (events.c.stream == stream) & (events.c.seq == seq)
            connection.execute(update(events).where(where).values(payload=payload.packed()))
        for start in range(0, len(ids), AT_ONCE):
            few = examples.c.id.in_(ids[start : start + AT_ONCE])
            connection.execute(delete(examples).where(examples.c.stream == stream, few))
        connection.execute(delete(snapshots).where(snapshots.c.stream == stream))
        connection.execute(insert(events), {"stream": stream, **event._asdict()})


def _check(store: Store, stream: int, ids: Sequence[str]) -> None:
    found = store.find(stream, ids)
    missing = [id for id in ids if id not in found]
    if missing:
        raise NotFoundError(f"There is no example {ascii(missing[0])[:80]}, or it came with a state file.")
    if store.event(stream, 1).kind == Kind.imported.value and 1 in found.values():
        raise ConflictError("An example that came with a state file is in it, and cannot be erased alone.")


def _places(store: Store, stream: int, ids: Collection[str]) -> Iterator[tuple[Event, list[int]]]:
    """Yield all events, each with the places of its parts that are of some examples."""
    for event in store.events(stream):
        if event.kind not in OF_EXAMPLES:
            yield event, []
            continue
        rows = enumerate(Payload.unpacked(event.payload).rows())
        yield event, [place for place, row in rows if row is not None and _id(event.kind, row) in ids]


def _id(kind: str, row: list[object]) -> object:
    """Return whose part it is; a lesson has the example in it as it came."""
    return decode(row[0])[0] if kind == Kind.learned.value else row[0]  # type: ignore[arg-type]
