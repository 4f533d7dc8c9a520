"""Snapshots: ids are written once, in bundles, and what is read back is what was there."""

import hashlib
import itertools
import tracemalloc

import numpy as np
import pytest
from sqlalchemy import delete, select, update
from tests.service.conftest import RIDGE, opened

from qufur.ids import KnownIds
from qufur.service import packing, tables
from qufur.service.description import Description
from qufur.service.events import SIZE, encode
from qufur.service.examples import numbered
from qufur.service.kept_snapshots import keep, kept
from qufur.service.labelled_rows import keep_in_log
from qufur.service.loading import from_snapshot, load
from qufur.service.packing import ASKED, Packed, note_kept, pack, unpack
from qufur.service.service import Service
from qufur.service.stream import Stream
from qufur.storage import container

SNAPSHOTS = tables.snapshots


@pytest.fixture
def service(tmp_path):
    store = opened(tmp_path)
    service = Service(store)
    service.create(Description(name="s", **RIDGE), "me")
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


def test_each_id_is_written_once(service):
    written = []
    for start in range(0, 50, 5):
        ask(service, *range(start, start + 5))
        keep(service.store, service.stream("s"), pack(service.stream("s")))
        written.append(rows(service.store))
        assert len(written[-1]) == 1 + (start + 5) // packing.BUNDLE
    for before, after in itertools.pairwise(written):
        assert [seq for seq in after if seq > 0] == [max(before) + 1]
        assert before.items() - {max(before): before[max(before)]}.items() <= after.items()
    ids = np.frombuffer(b"".join(body for seq, body in written[-1].items() if seq < 0), dtype="<u8")
    assert len(set(ids.tolist())) == 49
    assert set(ids.tolist()) < set(KnownIds([f"r{number}" for number in range(50)]).digests().tolist())


def test_a_restart_goes_on_with_the_bundles(service):
    for start in range(0, 60, 10):
        ask(service, *range(start, start + 10))
        stream = service.stream("s")
        keep(service.store, stream, pack(stream))
        service.forget()
        again = service.stream("s")
        assert again.digest() == stream.digest()
        assert again.bundles == stream.bundles
        assert again.book.asked.known([f"r{start}", f"r{start + 10}"]).tolist() == [True, False]


def test_what_could_not_be_kept_is_in_the_next(service, monkeypatch):
    ask(service, *range(20))
    stream = service.stream("s")
    packed = pack(stream)
    with monkeypatch.context() as patch:
        patch.setattr(service.store, "writing", full)
        with pytest.raises(OSError, match="full"):
            keep(service.store, stream, packed)
    assert kept(service.store, 1) is None
    ask(service, *range(20, 30))
    keep(service.store, stream, pack(stream))
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
def test_ids_that_are_not_those_are_seen_and_made_again(service, statement):
    ask(service, *range(20))
    digest = service.stream("s").digest()
    service.keep_snapshots(all_changed=True)
    assert from_snapshot(service.store, 1).digest() == digest
    change(service.store, statement)
    assert from_snapshot(service.store, 1) is None
    again = load(service.store, 1)
    assert (again.digest(), again.bundles) == (digest, [])
    keep(service.store, again, pack(again))
    assert from_snapshot(service.store, 1).digest() == digest


@pytest.mark.parametrize("in_the_book", [False, True])
def test_a_snapshot_of_before_is_read(service, in_the_book):
    ask(service, *range(20))
    stream = service.stream("s")
    header, tensors = stream.book.content()
    values = {} if in_the_book else {"asked": tensors.pop(ASKED).tobytes()}
    book = container.pack((header, tensors))
    body = encode({"book": book, "reopened": [], "asked_at": stream.asked_at, **values})
    packed = Packed(hashlib.blake2b(body, digest_size=SIZE).digest() + body)
    again = keep_in_log(unpack(1, stream.description, (stream.seq, stream.hash), packed), service.store)
    assert again.digest() == stream.digest()
    keep(service.store, again, pack(again))
    assert len(again.bundles) == 2
    assert from_snapshot(service.store, 1).digest() == stream.digest()


def test_nothing_is_packed_as_well():
    stream = Stream.create(1, Description(name="s", **RIDGE), "me")
    again = unpack(1, stream.description, (1, stream.hash), pack(stream))
    assert again.digest() == stream.digest()


def test_a_snapshot_takes_no_more_memory_as_ids_come(monkeypatch):
    monkeypatch.setattr(packing, "BUNDLE", 2**16)
    stream = Stream.create(1, Description(name="s", **RIDGE), "me")
    first = np.arange(10**6, dtype=np.uint64)
    stream.book.asked = KnownIds.of_digests(first)
    note_kept(stream, pack(stream))
    stream.book.asked.add(["a"])  # which makes room for more
    stream.book.asked.digests()
    tracemalloc.start()
    try:
        stream.book.asked.add(["b"])
        packed = pack(stream)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(packed.body) < peak < 1e6
