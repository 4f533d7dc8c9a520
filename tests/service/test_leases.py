"""Leases: no two annotators get the same row, also with several threads, and skipped rows cost little."""

import threading
import time
from collections.abc import Collection
from contextlib import suppress

from qufur.service.leases import Leases

LONG = 60.0


class Waiting(Collection):
    """Pending rows that count how often they are read."""

    def __init__(self, ids):
        self._ids, self.looks = dict.fromkeys(ids), 0

    def __len__(self):
        return len(self._ids)

    def __contains__(self, id):
        self.looks += 1
        return id in self._ids

    def __iter__(self):
        for id in self._ids:
            self.looks += 1
            yield id


class Yielding(Waiting):
    """Pending rows; another thread may run after each of them is read."""

    def __iter__(self):
        for id in super().__iter__():
            time.sleep(0)
            yield id


class Meeting(Waiting):
    """Pending rows at which two threads meet in the middle of a call, if no lock prevents it."""

    def __init__(self, ids):
        super().__init__(ids)
        self._barrier = threading.Barrier(2)

    def __iter__(self):
        found = list(super().__iter__())
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait(0.3)
        return iter(found)


def in_threads(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_leases_of_two_annotators_at_the_same_moment_differ():
    leases, waiting, taken = Leases(), Meeting(["a", "b"]), {}

    def lease(person):
        taken[person] = leases.take(person, waiting, 1, LONG)

    in_threads(lambda: lease("ada"), lambda: lease("bob"))
    assert sorted(taken["ada"] + taken["bob"]) == ["a", "b"]
    assert leases.holders() == {taken["ada"][0]: "ada", taken["bob"][0]: "bob"}


def test_leases_of_concurrent_threads_never_share_a_row():
    leases, waiting, owner, shared = Leases(), Yielding(map(str, range(40))), {}, []
    start = threading.Barrier(8)

    def work(person):
        start.wait()
        for turn in range(60):
            for id in leases.take(person, waiting, 4, LONG):
                if owner.setdefault(id, person) != person:
                    shared.append(id)
            mine = [id for id, holder in list(owner.items()) if holder == person]
            for id in mine:
                del owner[id]
            if turn % 3:
                leases.release(person, mine)
            else:
                leases.close(mine)
            leases.holders()

    in_threads(*(lambda person=f"p{number}": work(person) for number in range(8)))
    assert not shared


def test_skipped_rows_cost_one_lookup_each():
    leases, waiting = Leases(), Waiting(f"r{number}" for number in range(20_000))
    for _ in range(10):
        leases.release("ada", leases.take("ada", waiting, 100, LONG))
    waiting.looks = 0
    assert leases.take("ada", waiting, 100, LONG)[0] == "r1000"
    assert waiting.looks < 2_000


def test_skipped_rows_come_last_for_their_annotator():
    leases, waiting = Leases(), ["a", "b", "c"]
    leases.release("ada", leases.take("ada", waiting, 2, LONG))
    assert leases.take("ada", waiting, 3, LONG) == ["c", "a", "b"]
    assert leases.take("bob", waiting, 3, LONG) == []


def test_preferred_rows_are_leased_once_and_first():
    leases, waiting = Leases(), ["a", "b", "c", "d"]
    assert leases.take("bob", waiting, 1, LONG) == ["a"]
    assert leases.take("ada", waiting, 3, LONG, first=["d", "a", "d", "unknown"]) == ["d", "b", "c"]


def test_leases_expire_and_drop_rows_that_are_no_longer_pending():
    leases = Leases()
    assert leases.take("ada", ["a", "b"], 2, -1.0) == ["a", "b"]
    assert leases.holders() == {}
    assert leases.take("bob", ["a", "b"], 2, LONG) == ["a", "b"]
    assert leases.take("bob", ["b", "c"], 2, LONG) == ["b", "c"]
