"""Ids that were asked about are known again, and no others."""

import numpy as np

from qufur.ids import KnownIds


def test_it_is_a_set():
    rng = np.random.default_rng(3)
    asked, known = KnownIds(), set()
    for _ in range(200):
        numbers = rng.choice(5000, rng.integers(0, 30), replace=False).tolist()
        ids = [number if number % 2 else f"LH{number}" for number in numbers]
        assert asked.first_known(ids) == next((id for id in ids if id in known), None)
        new = [id for id in ids if id not in known]
        asked.add(new)
        known.update(new)
    assert len(asked.digests()) == len(known) > 1000
    assert (np.diff(asked.digests().astype(object)) > 0).all()
    again = KnownIds.of_digests(asked.digests())
    assert all(again.first_known([id]) == id for id in known)


def test_the_largest_digest():
    asked = KnownIds.of_digests(np.array([1, 2**64 - 1], dtype=np.uint64))
    asked.add(["LH1"])
    assert asked.first_known(["LH1"]) == "LH1"
    assert asked.first_known(["LH2"]) is None


def test_eight_bytes_each():
    assert KnownIds(range(1000)).digests().nbytes == 8000


def test_many_that_come_one_at_a_time():
    asked = KnownIds()
    for number in range(10_000):
        asked.add([number])
    assert asked.known(range(9_990, 10_010)).tolist() == [True] * 10 + [False] * 10
    assert asked.digests().tolist() == KnownIds(range(10_000)).digests().tolist()
