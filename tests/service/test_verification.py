"""Integrity checks of a store, at the start of a server and by `qufur verify`."""

import asyncio
import random
import sqlite3
import time
from contextlib import closing

import pytest
from tests.service.clients import DirectClient
from tests.service.witness import NUMBERS, Witness

from qufur.service.app import create_app
from qufur.service.auth import Keys
from qufur.service.errors import UnavailableError
from qufur.service.store import Store
from qufur.service.store.events import DamagedError
from qufur.service.verification import check_at_start, verify


@pytest.fixture
def stored(tmp_path):
    """Return the file of a store, and the witness of its responses."""
    path, witness, draws = tmp_path / "a.db", Witness(), random.Random(0)
    client = DirectClient(Store(f"sqlite:///{path}"))
    client.create(NUMBERS)
    Keys(client.store).add("ada", ["read"])
    for _ in range(40):
        witness.step(client, draws)
    witness.digest = client.state("numbers")["digest"]
    client.close()
    return path, witness


def change(path, statement):
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount != 0


def opened(path, **settings):
    return closing(Store(f"sqlite:///{path}", **settings))


def test_verify_accepts_an_undamaged_store(stored):
    path, witness = stored
    with opened(path, writing=False) as store:
        ((name, events, digest, remarks),) = verify(store)
        assert (name, digest, remarks) == ("numbers", witness.digest, [])
        assert events == store.last(1)
        assert check_at_start(store) is None


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM examples WHERE id IN (SELECT id FROM examples LIMIT 3)",
        "UPDATE examples SET seq = seq - 1 WHERE seq = 30",
        "UPDATE examples SET id = id || 'x'",
        "INSERT INTO examples SELECT stream, id || 'x', seq FROM examples LIMIT 1",
        "UPDATE snapshots SET body = substr(body, 1, 100)",
        "DELETE FROM snapshots",
    ],
)
def test_verify_rebuilds_index_and_snapshots_from_the_log(stored, statement):
    path, witness = stored
    change(path, statement)
    with opened(path) as store:
        assert check_at_start(store) is None
    client = DirectClient(Store(f"sqlite:///{path}"))
    try:
        witness.check(client, client.store, random.Random(0), everything=True)
        assert client.state("numbers")["digest"] == witness.digest
        assert verify(client.store)[0].remarks == []
    finally:
        client.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE events SET payload = substr(payload, 2) WHERE seq = 3", "event"),
        ("UPDATE events SET actor = 'another' WHERE seq = 3", "event 3"),
        ("UPDATE events SET at = at + 1 WHERE seq = 3", "event 3"),
        ("DELETE FROM events WHERE seq = 3", "events are missing"),
        ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", "events are missing"),
        ("DELETE FROM streams", "streams do not match"),
        ("UPDATE streams SET name = 'other'", "does not match its log"),
        ("UPDATE facts SET value = '7' WHERE name = 'epoch'", "facts or keys"),
        ("DELETE FROM facts", "facts or keys"),
        ("UPDATE keys SET scopes = 'admin'", "facts or keys"),
        ("DELETE FROM keys", "facts or keys"),
        ("ALTER TABLE streams RENAME TO dreams", "no table 'streams'"),
    ],
)
def test_verify_rejects_a_damaged_log(stored, statement, message):
    path, _ = stored
    change(path, statement)
    with pytest.raises(DamagedError, match=message) as caught, opened(path) as store:
        check_at_start(store)
    assert "\n" not in str(caught.value)


def test_large_store_is_checked_in_the_background(stored, monkeypatch):
    path, _ = stored
    monkeypatch.setattr("qufur.service.verification.AT_START", 10)
    change(path, "UPDATE events SET actor = 'another' WHERE seq = 3")

    async def fault(app):
        async with app.router.lifespan_context(app):
            writer, end = app.state.writer, time.monotonic() + 20
            while writer.failure is None:
                assert time.monotonic() < end
                await asyncio.sleep(0.01)
            with pytest.raises(UnavailableError, match="event 3"):
                writer.call(lambda service: None)
            return writer.failure

    with opened(path) as store:
        assert "damaged at event 3" in asyncio.run(fault(create_app(store)))


def test_background_check_does_not_repair_a_damaged_index(stored, monkeypatch):
    path, witness = stored
    monkeypatch.setattr("qufur.service.verification.AT_START", 10)
    change(path, "DELETE FROM examples WHERE seq = 20")
    with opened(path) as store, pytest.raises(DamagedError, match="`qufur verify` repairs it"):
        check_at_start(store)()
    with opened(path) as store:
        assert verify(store) == [
            ("numbers", store.last(1), witness.digest, ["the index of examples was rebuilt"])
        ]


def test_missing_end_of_the_log_is_detected_by_the_high_water_mark(stored):
    path, _ = stored
    with opened(path, writing=False) as store:
        last = store.last(1)
    for table in ("events", "examples", "snapshots"):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"DELETE FROM {table} WHERE seq > ?", (last - 3,))
    with pytest.raises(DamagedError, match=r"last events are missing\. Restore a backup; if this is one,"):
        opened(path)
    path.with_name("a.db.mark").unlink()  # as the message advises for a backup
    with opened(path) as store:
        assert check_at_start(store) is None


def test_unreadable_high_water_mark_is_ignored(stored):
    path, _ = stored
    mark = path.with_name("a.db.mark")
    for content in (b"", b"x", bytes(80), mark.read_bytes()[:-1], mark.read_bytes()[:-1] + b"x"):
        mark.write_bytes(content)
        with opened(path) as store:
            assert check_at_start(store) is None
