"""Bugs that a service like this tends to have, put into it: the judge sees each of them."""

import random

import msgspec
import pytest
from tests.service.cuts import cut_power
from tests.service.doors import Direct
from tests.service.witness import NUMBERS, BrokenPromiseError, Witness

from qufur.service.appending import EXAMPLES
from qufur.service.description import Description
from qufur.service.service import Service
from qufur.service.store import Store
from qufur.service.stream import Stream
from qufur.service.writer import Writer


def restart_again_and_again(path, seed=0, steps=60):
    """Work, end in an orderly way, start again, judge."""
    draws, witness = random.Random(seed), Witness(("numbers",))
    for _ in range(3):
        door = Direct(Store(f"sqlite:///{path}"))
        try:
            door.create(NUMBERS)
            witness.judge(door, door.store, draws)
            for _ in range(steps):
                witness.step(door, draws)
        finally:
            door.close()


def test_without_a_bug_nothing_is_seen(tmp_path):
    restart_again_and_again(tmp_path / "a.db")


def test_answer_before_commit(tmp_path, monkeypatch):
    def results(self, commands):
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "_commit", lambda self: None)
            self._deliver(original(self, commands))
        self._commit()
        return []

    original = Writer._results
    monkeypatch.setattr(Writer, "_results", results)
    with pytest.raises(BrokenPromiseError, match=r"lost|and then|gone|no example"):
        cut_power(tmp_path, 100)


def test_no_deduplication(tmp_path, monkeypatch):
    def ask(self, name, rows, actor):
        return self._ask(self.stream(name), rows, actor)

    monkeypatch.setattr(Service, "ask", ask)
    careless = EXAMPLES["sqlite"].replace("INSERT", "INSERT OR IGNORE")
    monkeypatch.setitem(EXAMPLES, "sqlite", careless)
    with pytest.raises(BrokenPromiseError, match=r"and then|another example was taken|must be new"):
        restart_again_and_again(tmp_path / "a.db")


def test_a_retry_draws_a_new_coin(tmp_path, monkeypatch):
    def repeated(self, stream, ids):
        found = original(self, stream, ids)
        for _, said in found.values():
            said.query = coin.random() < said.probability
        return found

    coin, original = random.Random(0), Service._repeated
    monkeypatch.setattr(Service, "_repeated", repeated)
    with pytest.raises(BrokenPromiseError, match="and then"):
        restart_again_and_again(tmp_path / "a.db")


def test_budget_checked_outside_the_transaction(tmp_path, monkeypatch):
    """Two workers append to one log, and each has a count of what was spent of its own."""

    def ask(self, rows, actor):
        learner = self.book.learner
        common, learner.spending = learner.spending, counts[self.seq % 2]
        try:
            return original(self, rows, actor)
        finally:
            learner.spending = common

    original = Stream.ask
    counts = [msgspec.convert(NUMBERS, Description).workbook().learner.spending for _ in range(2)]
    monkeypatch.setattr(Stream, "ask", ask)
    with pytest.raises(BrokenPromiseError, match=r"spent \d+ of|cannot be replayed"):
        restart_again_and_again(tmp_path / "a.db", steps=150)


def test_an_event_lost_from_its_group(tmp_path, monkeypatch):
    def commit(self):
        for stream in self._streams.values():
            if stream.seq > 20 and len(stream.unsaved) == 1 and stream.unsaved[0].kind == "asked":
                stream.seq, stream.hash = before[stream.number]
                stream.unsaved, stream.examples = [], []
            before[stream.number] = stream.seq, stream.hash
        original(self)

    before, original = {}, Service.commit
    monkeypatch.setattr(Service, "commit", commit)
    with pytest.raises(BrokenPromiseError, match=r"lost|and then|was erased"):
        restart_again_and_again(tmp_path / "a.db")
