"""Snapshots: ids are written once, in bundles, and a decoded snapshot equals the stream."""

import hashlib
import itertools
import tracemalloc

import numpy as np
import pytest
from sqlalchemy import delete, select, update
from tests.service.conftest import RIDGE, opened

from qufur.service import snapshots
from qufur.service.config import StreamConfig
from qufur.service.examples import numbered
from qufur.service.rebuild import from_snapshot, load, offload_rows
from qufur.service.service import Service
from qufur.service.snapshots import (
    ASKED,
    SnapshotBytes,
    decode_snapshot,
    encode_snapshot,
    load_snapshot,
    mark_persisted,
    save_snapshot,
)
from qufur.service.store import schema
from qufur.service.store.events import SIZE, encode
from qufur.service.stream import Stream
from qufur.storage import container
from qufur.workbook.seen_ids import SeenIds

SNAPSHOTS = schema.snapshots


@pytest.fixture
def service(tmp_path):
    store = opened(tmp_path)
    service = Service(store)
    service.create(StreamConfig(name="s", **RIDGE), "me")
    yield service
    store.close()


def ask(service, *numbers):
    ids = [f"r{number}" for number in numbers]
    service.ask("s", numbered(ids, np.ones((len(ids), 2))), "me")
    service.commit()


def rows(store):
    with store.reading() as connection:
        query = select(SNAPSHOTS.c.seq, SNAPSHOTS.c.body).order_by(SNAPSHOTS.c.seq.desc())
        return dict(tuple(row) for row in connection.execute(query))


def change(store, statement):
    with store.writing() as connection:
        connection.execute(statement)


def full():
    raise OSError("the disk is full")


def test_snapshot_ids_are_written_once(service):
    written = []
    for start in range(0, 50, 5):
        ask(service, *range(start, start + 5))
        save_snapshot(service.store, service.stream("s"), encode_snapshot(service.stream("s")))
        written.append(rows(service.store))
        assert len(written[-1]) == 1 + (start + 5) // snapshots.BUNDLE
    for before, after in itertools.pairwise(written):
        assert [seq for seq in after if seq > 0] == [max(before) + 1]
        assert before.items() - {max(before): before[max(before)]}.items() <= after.items()
    ids = np.frombuffer(b"".join(body for seq, body in written[-1].items() if seq < 0), dtype="<u8")
    assert len(set(ids.tolist())) == 49
    assert set(ids.tolist()) < set(SeenIds([f"r{number}" for number in range(50)]).digests().tolist())


def test_restart_continues_with_the_stored_bundles(service):
    for start in range(0, 60, 10):
        ask(service, *range(start, start + 10))
        stream = service.stream("s")
        save_snapshot(service.store, stream, encode_snapshot(stream))
        service.roll_back()
        again = service.stream("s")
        assert again.digest() == stream.digest()
        assert again.bundles == stream.bundles
        assert again.workbook.seen_ids.seen([f"r{start}", f"r{start + 10}"]).tolist() == [True, False]


def test_snapshot_that_could_not_be_saved_is_contained_in_the_next(service, monkeypatch):
    ask(service, *range(20))
    stream = service.stream("s")
    packed = encode_snapshot(stream)
    with monkeypatch.context() as patch:
        patch.setattr(service.store, "writing", full)
        with pytest.raises(OSError, match="full"):
            save_snapshot(service.store, stream, packed)
    assert load_snapshot(service.store, 1) is None
    ask(service, *range(20, 30))
    save_snapshot(service.store, stream, encode_snapshot(stream))
    assert from_snapshot(service.store, 1).digest() == stream.digest()


@pytest.mark.parametrize(
    "statement",
    [
        delete(SNAPSHOTS).where(SNAPSHOTS.c.seq == -1),
        delete(SNAPSHOTS).where(SNAPSHOTS.c.seq == -2),
        delete(SNAPSHOTS).where(SNAPSHOTS.c.seq > 0),
        update(SNAPSHOTS).where(SNAPSHOTS.c.seq == -2).values(body=bytes(8 * 7)),
    ],
    ids=["first", "last", "all but ids", "other ids"],
)
def test_damaged_bundles_are_detected_and_rebuilt(service, statement):
    ask(service, *range(20))
    digest = service.stream("s").digest()
    service.save_snapshots(all_changed=True)
    assert from_snapshot(service.store, 1).digest() == digest
    change(service.store, statement)
    assert from_snapshot(service.store, 1) is None
    again = load(service.store, 1)
    assert (again.digest(), again.bundles) == (digest, [])
    save_snapshot(service.store, again, encode_snapshot(again))
    assert from_snapshot(service.store, 1).digest() == digest


@pytest.mark.parametrize("in_the_book", [False, True])
def test_snapshot_of_an_older_version_is_read(service, in_the_book):
    ask(service, *range(20))
    stream = service.stream("s")
    asked_at = {id: stream.asked_at(id) for id in stream.waiting}
    for query in stream.workbook.learner.pending.values():
        query.asked_at = None
    header, tensors = stream.workbook.content()
    values = {} if in_the_book else {"asked": tensors.pop(ASKED).tobytes()}
    workbook = container.pack((header, tensors))
    body = encode({"book": workbook, "reopened": [], "asked_at": asked_at, **values})
    packed = SnapshotBytes(hashlib.blake2b(body, digest_size=SIZE).digest() + body)
    again = offload_rows(decode_snapshot(1, stream.config, (stream.seq, stream.hash), packed), service.store)
    assert again.digest() == stream.digest()
    assert {id: again.asked_at(id) for id in again.waiting} == asked_at
    assert again.oldest == min(asked_at.values())
    save_snapshot(service.store, again, encode_snapshot(again))
    assert len(again.bundles) == 2
    assert from_snapshot(service.store, 1).digest() == stream.digest()


def test_empty_stream_is_encoded_and_decoded():
    stream = Stream.create(1, StreamConfig(name="s", **RIDGE), "me")
    again = decode_snapshot(1, stream.config, (1, stream.hash), encode_snapshot(stream))
    assert again.digest() == stream.digest()


def test_snapshot_memory_does_not_grow_with_the_number_of_ids(monkeypatch):
    monkeypatch.setattr(snapshots, "BUNDLE", 2**16)
    stream = Stream.create(1, StreamConfig(name="s", **RIDGE), "me")
    first = np.arange(10**6, dtype=np.uint64)
    stream.workbook.seen_ids = SeenIds.of_digests(first)
    mark_persisted(stream, encode_snapshot(stream))
    stream.workbook.seen_ids.add(["a"])  # so that the array has room for more
    stream.workbook.seen_ids.digests()
    tracemalloc.start()
    try:
        stream.workbook.seen_ids.add(["b"])
        packed = encode_snapshot(stream)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(packed.body) < peak < 1e6
