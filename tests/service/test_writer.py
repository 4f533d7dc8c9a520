"""Batches of the writer: an internal error rolls back the batch; commands that arrive together share one."""

import threading

import numpy as np
import pytest
from tests.service.conftest import RIDGE, opened

from qufur.service.config import StreamConfig
from qufur.service.errors import UnavailableError
from qufur.service.examples import numbered
from qufur.service.rebuild import from_start, replay_events
from qufur.service.service import Service
from qufur.service.stream import Stream
from qufur.service.writer import MAX_BATCH, Ask, Call, Writer


@pytest.fixture
def writer(tmp_path):
    store = opened(tmp_path)
    found = Writer(Service(store))
    found.start()
    found.call(lambda service: service.create(StreamConfig(name="bikes", **RIDGE), "test"))
    yield found
    found.stop()
    store.close()


def in_one_batch(writer, commands):
    """Return the results of commands of one batch: they are submitted while the writer is busy."""
    busy = threading.Event()
    writer.submit(Call(lambda service: busy.wait(10)))
    waiters = [writer.submit(command) for command in commands]
    busy.set()
    return [waiter.exception(10) or waiter.result() for waiter in waiters]


def ask(*ids):
    return Ask("bikes", numbered(list(ids), np.full((len(ids), RIDGE["dim"]), 0.5)), "test")


def ids_in_the_log(writer, ids):
    """Check that the stream in memory equals its log; return those of the ids that are in the store."""

    def look(service):
        stream = from_start(service.store, service.numbers["bikes"])
        replay_events(stream, service.store)
        return stream.digest(), service.stream("bikes").digest(), set(service.store.find(stream.number, ids))

    logged, here, found = writer.call(look)
    assert logged == here
    return found


def test_writer_rolls_back_the_batch_of_a_failed_command(writer):
    def fail(service):
        raise RuntimeError("a bug")

    asked, failed = in_one_batch(writer, [ask("a"), Call(fail)])
    assert isinstance(asked, UnavailableError)
    assert isinstance(failed, RuntimeError)
    assert ids_in_the_log(writer, ["a"]) == set()
    (said,) = writer.submit(ask("a")).result(10)
    assert said.id == "a"
    assert ids_in_the_log(writer, ["a"]) == {"a"}


def test_writer_does_not_retry_merged_commands_on_a_failed_state(writer, monkeypatch):
    original = Stream.ask

    def half(self, rows, actor):
        if len(rows) > 1:
            self.workbook.rows += 1
            raise RuntimeError("a bug")
        return original(self, rows, actor)

    monkeypatch.setattr(Stream, "ask", half)
    results = in_one_batch(writer, [ask("a"), ask("b")])
    assert [type(result) for result in results] == [RuntimeError, RuntimeError]
    assert ids_in_the_log(writer, ["a", "b"]) == set()


@pytest.mark.parametrize(("busy", "coming", "taken", "waits"), [(False, 3, 1, 0), (True, 3, 4, 4)])
def test_writer_waits_while_commands_arrive(tmp_path, monkeypatch, busy, coming, taken, waits):
    """A single command is executed immediately; commands that arrive together share a batch."""

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) <= coming:
            writer._commands.put(Call(len))

    slept, store = [], opened(tmp_path)
    writer = Writer(Service(store))
    monkeypatch.setattr("qufur.service.writer.time.sleep", sleep)
    writer._commands.put(Call(len))
    writer._is_busy = busy
    assert len(writer._next_batch()) == taken
    assert len(slept) == waits
    store.close()


def test_writer_stops_waiting_after_the_limit(tmp_path, monkeypatch):
    store = opened(tmp_path)
    writer = Writer(Service(store))
    monkeypatch.setattr("qufur.service.writer.time.sleep", lambda seconds: writer._commands.put(Call(len)))
    for longest in (0.0, 1000.0):
        writer._is_busy = True
        monkeypatch.setattr("qufur.service.writer.MAX_LINGER_SECONDS", longest)
        writer._commands.put(Call(len))
        assert len(writer._next_batch()) == (MAX_BATCH if longest else 1)
    store.close()
