"""Typical bugs planted in the service: the witness detects each of them."""

import random

import msgspec
import pytest
from tests.service.clients import DirectClient
from tests.service.cuts import cut_power
from tests.service.witness import NUMBERS, GuaranteeError, Witness

from qufur.service.config import StreamConfig
from qufur.service.service import Service
from qufur.service.store import Store
from qufur.service.store.append import INSERT_EXAMPLES
from qufur.service.stream import Stream
from qufur.service.writer import Writer


def restart_repeatedly(path, seed=0, steps=60):
    """Run the service, stop it, restart it and check its guarantees."""
    draws, witness = random.Random(seed), Witness(("numbers",))
    for _ in range(3):
        client = DirectClient(Store(f"sqlite:///{path}"))
        try:
            client.create(NUMBERS)
            witness.check(client, client.store, draws)
            for _ in range(steps):
                witness.step(client, draws)
        finally:
            client.close()


def test_witness_reports_nothing_without_a_bug(tmp_path):
    restart_repeatedly(tmp_path / "a.db")


def test_witness_detects_an_answer_before_the_commit(tmp_path, monkeypatch):
    def results(self, commands):
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "_commit", lambda self: None)
            self._deliver(original(self, commands))
        self._commit()
        return []

    original = Writer._results
    monkeypatch.setattr(Writer, "_results", results)
    with pytest.raises(GuaranteeError, match=r"lost|and then|gone|no example"):
        cut_power(tmp_path, 100)


def test_witness_detects_missing_deduplication(tmp_path, monkeypatch):
    def ask(self, name, rows, actor):
        return self._ask(self.stream(name), rows, actor)

    monkeypatch.setattr(Service, "ask", ask)
    careless = INSERT_EXAMPLES["sqlite"].replace("INSERT", "INSERT OR IGNORE")
    monkeypatch.setitem(INSERT_EXAMPLES, "sqlite", careless)
    with pytest.raises(GuaranteeError, match=r"and then|another example was taken|must be new"):
        restart_repeatedly(tmp_path / "a.db")


def test_witness_detects_a_retry_that_draws_again(tmp_path, monkeypatch):
    def repeated(self, stream, ids):
        stored = original(self, stream, ids)
        for _, answer in stored.values():
            answer.query = draws.random() < answer.probability
        return stored

    draws, original = random.Random(0), Service._stored_answers
    monkeypatch.setattr(Service, "_stored_answers", repeated)
    with pytest.raises(GuaranteeError, match="and then"):
        restart_repeatedly(tmp_path / "a.db")


def test_witness_detects_a_budget_checked_outside_the_transaction(tmp_path, monkeypatch):
    """Two workers append to one log, and each counts its own spending."""

    def ask(self, rows, actor):
        learner = self.workbook.learner
        common, learner.spending = learner.spending, counts[self.seq % 2]
        try:
            return original(self, rows, actor)
        finally:
            learner.spending = common

    original = Stream.ask
    counts = [msgspec.convert(NUMBERS, StreamConfig).workbook().learner.spending for _ in range(2)]
    monkeypatch.setattr(Stream, "ask", ask)
    with pytest.raises(GuaranteeError, match=r"spent \d+ of|cannot be replayed"):
        restart_repeatedly(tmp_path / "a.db", steps=150)


def test_witness_detects_an_event_lost_from_its_batch(tmp_path, monkeypatch):
    def commit(self):
        for stream in self.loaded.values():
            if stream.seq > 20 and len(stream.unsaved) == 1 and stream.unsaved[0].kind == "asked":
                stream.seq, stream.hash = before[stream.number]
                stream.unsaved, stream.examples = [], []
            before[stream.number] = stream.seq, stream.hash
        original(self)

    before, original = {}, Service.commit
    monkeypatch.setattr(Service, "commit", commit)
    with pytest.raises(GuaranteeError, match=r"lost|and then|was erased"):
        restart_repeatedly(tmp_path / "a.db")
