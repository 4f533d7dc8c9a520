"""Digests of processed ids: every processed id matches, and no other id does."""

import numpy as np

from qufur.workbook.seen_ids import SeenIds


def test_seen_ids_behave_like_a_set():
    rng = np.random.default_rng(3)
    asked, known = SeenIds(), set()
    for _ in range(200):
        numbers = rng.choice(5000, rng.integers(0, 30), replace=False).tolist()
        ids = [number if number % 2 else f"LH{number}" for number in numbers]
        assert asked.first_seen(ids) == next((id for id in ids if id in known), None)
        new = [id for id in ids if id not in known]
        asked.add(new)
        known.update(new)
    assert len(asked.digests()) == len(known) > 1000
    assert (np.diff(asked.digests().astype(object)) > 0).all()
    again = SeenIds.of_digests(asked.digests())
    assert all(again.first_seen([id]) == id for id in known)


def test_seen_ids_handle_the_largest_digest():
    asked = SeenIds.of_digests(np.array([1, 2**64 - 1], dtype=np.uint64))
    asked.add(["LH1"])
    assert asked.first_seen(["LH1"]) == "LH1"
    assert asked.first_seen(["LH2"]) is None


def test_seen_ids_take_eight_bytes_each():
    assert SeenIds(range(1000)).digests().nbytes == 8000


def test_seen_ids_accept_many_single_additions():
    asked = SeenIds()
    for number in range(10_000):
        asked.add([number])
    assert asked.seen(range(9_990, 10_010)).tolist() == [True] * 10 + [False] * 10
    assert asked.digests().tolist() == SeenIds(range(10_000)).digests().tolist()
