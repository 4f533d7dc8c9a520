"""Snapshots of streams: format, schedule and storage.

A snapshot limits the time of a restart to a second or two. The ids of all examples, 8 bytes each, are the
largest part of a long stream. They are stored in bundles that are written once, and a snapshot contains only
the ids that are in no bundle yet. Its time and memory therefore do not grow with the number of examples.

The store holds one snapshot per stream, under the number of its event, and bundles under negative numbers.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import numpy as np
from sqlalchemy import delete, insert, select

from qufur.service.config import StreamConfig
from qufur.service.store import Store, schema
from qufur.service.store.events import SIZE, DamagedError, decode, digest_of
from qufur.service.stream import Stream
from qufur.storage import container
from qufur.workbook import Workbook
from qufur.workbook.seen_ids import SeenIds

ASKED, STATE = "workbook.asked", "the stored state"
BUNDLE = 2**16
"""Ids per bundle, half a megabyte."""
ID_BYTES = 8
SECONDS = 1.0
"""Minimum of work between snapshots, which a restart repeats after a crash."""
SHARE = 0.02
"""Maximum share of the time that snapshots take."""
Buffer = bytes | bytearray | memoryview
_encode_into = msgspec.msgpack.Encoder().encode_into


def _load_malloc_trim() -> Any:
    """Return glibc's `malloc_trim`; None with another C library."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


_trim = _load_malloc_trim()


def trim_memory() -> None:
    """Return free memory to the system, after work whose temporary objects are several times its result.

    A snapshot is copied on its way into the store. Small objects above such copies would prevent the C
    library from returning their pages, and resident memory would grow with the largest snapshot.
    """
    if _trim is not None:
        _trim(0)


class SnapshotBytes(NamedTuple):
    """Encoded stream.

    Attributes
    ----------
    body
        The state without the ids in bundles and the rows that are read from the log.
    bundles
        Bundles of ids: the new ones of an encoded snapshot, all of a loaded one.
    """

    body: Buffer
    bundles: Sequence[Buffer] = ()


def encode_snapshot(stream: Stream) -> SnapshotBytes:
    """Encode a stream; call `mark_persisted` once the result is stored."""
    header, tensors = stream.workbook.content(whole=False)
    del tensors[ASKED]
    loose = stream.workbook.seen_ids.unbundled().astype("<u8", copy=False).view(np.uint8).data
    size = ID_BYTES * BUNDLE
    end = len(loose) - len(loose) % size
    bundles = [loose[start : start + size] for start in range(0, end, size)]
    values = {
        "workbook": container.pack((header, tensors)),
        "bundles": [*stream.bundles, *map(digest_of, bundles)],
        "loose": loose[end:],
        "reopened": list(stream.reopened),
        "terms": True,
    }
    body = bytearray(SIZE)
    _encode_into(values, body, SIZE)
    body[:SIZE] = digest_of(memoryview(body)[SIZE:])
    return SnapshotBytes(body, bundles)


def mark_persisted(stream: Stream, packed: SnapshotBytes) -> None:
    """Mark the bundles of a stored snapshot as persisted; later snapshots omit them."""
    stream.bundles += map(digest_of, packed.bundles)
    stream.workbook.seen_ids.mark_bundled(sum(map(len, packed.bundles)) // ID_BYTES)


def decode_snapshot(
    number: int, config: StreamConfig, last: tuple[int, bytes], packed: SnapshotBytes
) -> Stream:
    """Decode a snapshot; raise `DamagedError` if a digest does not match."""
    body = memoryview(packed.body)[SIZE:]
    if digest_of(body) != packed.body[:SIZE]:
        raise DamagedError("A snapshot is damaged.")
    values = decode(body)
    bundles = list(map(digest_of, packed.bundles))
    if bundles != values.get("bundles", []):
        raise DamagedError("A snapshot lacks ids.")
    stream = Stream(number, config, _workbook(values, packed.bundles), last)
    stream.bundles = bundles
    stream.reopened = dict.fromkeys(values["reopened"])
    for id, at in values.get("asked_at", {}).items():  # version 0.1.0 stored them beside the learner
        stream.workbook.learner.pending[id].asked_at = at
    return stream


def keeps_terms(packed: SnapshotBytes) -> bool:
    """Return whether a snapshot contains the terms of closed queries; those of version 0.1.0 do not."""
    return "terms" in decode(memoryview(packed.body)[SIZE:])


def decode_workbook(content: bytes) -> Workbook:
    """Return the workbook of an encoded state file."""
    return Workbook.from_content(container.unpack(content, STATE))


class SnapshotSchedule:
    """Schedule of snapshots by the work on each stream since its last one."""

    def __init__(self) -> None:
        # Seconds of work since the last snapshot, and seconds that this snapshot took, by stream number.
        self._work: dict[int, float] = defaultdict(float)
        self._snapshot: dict[int, float] = defaultdict(float)

    @contextmanager
    def work(self, stream: Stream) -> Iterator[None]:
        """Measure the duration of an operation."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._work[stream.number] += time.perf_counter() - start

    def forget(self, stream: Stream) -> None:
        """Discard the record of a deleted stream."""
        self._work.pop(stream.number, None)
        self._snapshot.pop(stream.number, None)

    def changed(self, stream: Stream) -> bool:
        """Return whether the stream changed since the last snapshot."""
        return self._work[stream.number] > 0

    def is_due(self, stream: Stream) -> bool:
        """Return whether the work since the last snapshot is worth another, by `SECONDS` and `SHARE`."""
        return self._work[stream.number] > max(SECONDS, self._snapshot[stream.number] / SHARE)

    def take(self, stream: Stream) -> SnapshotBytes:
        """Encode a stream and record the duration."""
        start = time.perf_counter()
        packed = encode_snapshot(stream)
        self._work[stream.number], self._snapshot[stream.number] = 0.0, time.perf_counter() - start
        return packed


class StoredSnapshot(NamedTuple):
    """Snapshot of a stream after the event with this number and hash."""

    seq: int
    hash: bytes
    content: SnapshotBytes


def save_snapshot(store: Store, stream: Stream, packed: SnapshotBytes) -> None:
    """Store a snapshot in place of the previous one; bundles have the numbers −1, −2 and so on."""
    table, persisted = schema.snapshots, len(stream.bundles)
    new = [(-persisted - index, bundle) for index, bundle in enumerate(packed.bundles, 1)]
    with store.writing() as connection:
        is_obsolete = ~table.c.seq.between(-persisted, -1)
        connection.execute(delete(table).where(table.c.stream == stream.number, is_obsolete))
        for seq, body in (*new, (stream.seq, packed.body)):
            row = {"stream": stream.number, "seq": seq, "hash": stream.hash, "body": body}
            connection.execute(insert(table), row)
    mark_persisted(stream, packed)


def load_snapshot(store: Store, number: int) -> StoredSnapshot | None:
    """Return the stored snapshot of a stream; None if there is none."""
    table = schema.snapshots
    query = select(table.c.seq, table.c.hash, table.c.body).where(table.c.stream == number)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(table.c.seq.desc())).all()
    if not rows or rows[0].seq < 1:
        return None
    body, *bundles = [bytes(row.body) for row in rows]
    return StoredSnapshot(rows[0].seq, bytes(rows[0].hash), SnapshotBytes(body, bundles))


def _workbook(values: dict[str, Any], bundles: Sequence[Buffer]) -> Workbook:
    if "workbook" not in values:  # a snapshot of an older version, which contains all ids
        header, tensors = container.unpack(values["book"], STATE)
        if "asked" in values:
            tensors[ASKED] = np.frombuffer(values["asked"], dtype="<u8").astype(np.uint64)
        return Workbook.from_content((header, tensors), whole=False)
    header, tensors = container.unpack(values["workbook"], STATE)
    loose = np.frombuffer(values["loose"], dtype="<u8").astype(np.uint64)
    asked = np.concatenate([*(np.frombuffer(bundle, dtype="<u8") for bundle in bundles), loose])
    asked.sort()
    workbook = Workbook.from_content((header, {**tensors, ASKED: asked}), whole=False)
    workbook.seen_ids = SeenIds.of_digests(asked, loose)
    return workbook
