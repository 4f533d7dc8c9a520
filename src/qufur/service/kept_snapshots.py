"""Snapshots in the store: one of each stream, in the row of its event, and its bundles of ids before that."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import delete, insert, select

from qufur.service import tables
from qufur.service.packing import Packed, note_kept
from qufur.service.store import Store
from qufur.service.stream import Stream


class Kept(NamedTuple):
    """A stream as it was after the event of this number and hash."""

    seq: int
    hash: bytes
    packed: Packed


def keep(store: Store, stream: Stream, packed: Packed) -> None:
    """Keep a stream as it is now, in place of how it was before; bundles are numbered −1, −2 and so on."""
    table, known = tables.snapshots, len(stream.bundles)
    new = [(-known - place, bundle) for place, bundle in enumerate(packed.bundles, 1)]
    with store.writing() as connection:
        own = table.c.stream == stream.number
        connection.execute(delete(table).where(own, ~table.c.seq.between(-known, -1)))
        for seq, body in (*new, (stream.seq, packed.body)):
            row = {"stream": stream.number, "seq": seq, "hash": stream.hash, "body": body}
            connection.execute(insert(table), row)
    note_kept(stream, packed)


def kept(store: Store, number: int) -> Kept | None:
    """Return what was kept of a stream; None if nothing was."""
    table = tables.snapshots
    query = select(table.c.seq, table.c.hash, table.c.body).where(table.c.stream == number)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(table.c.seq.desc())).all()
    if not rows or rows[0].seq < 1:
        return None
    body, *bundles = [bytes(row.body) for row in rows]
    return Kept(rows[0].seq, bytes(rows[0].hash), Packed(body, bundles))
