"""What is checked of a store, at the start and by hand."""

import asyncio
import random
import sqlite3
import time
from contextlib import closing

import pytest
from tests.service.doors import Direct
from tests.service.witness import NUMBERS, Witness

from qufur.service.access import Keys
from qufur.service.app import create_app
from qufur.service.events import DamagedError
from qufur.service.refusals import UnavailableError
from qufur.service.store import Store
from qufur.service.verification import check_at_start, verify


@pytest.fixture
def kept(tmp_path):
    """Return the file of a store, and what clients were told."""
    path, witness, draws = tmp_path / "a.db", Witness(), random.Random(0)
    door = Direct(Store(f"sqlite:///{path}"))
    door.create(NUMBERS)
    Keys(door.store).add("somebody", ["read"])
    for _ in range(40):
        witness.step(door, draws)
    witness.digest = door.state("numbers")["digest"]
    door.close()
    return path, witness


def change(path, statement):
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount != 0


def opened(path, **settings):
    return closing(Store(f"sqlite:///{path}", **settings))


def test_a_sound_store(kept):
    path, witness = kept
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
def test_what_follows_from_the_log_is_made_again(kept, statement):
    path, witness = kept
    change(path, statement)
    with opened(path) as store:
        assert check_at_start(store) is None
    door = Direct(Store(f"sqlite:///{path}"))
    try:
        witness.judge(door, door.store, random.Random(0), everything=True)
        assert door.state("numbers")["digest"] == witness.digest
        assert verify(door.store)[0].remarks == []
    finally:
        door.close()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE events SET payload = substr(payload, 2) WHERE seq = 3", "event"),
        ("UPDATE events SET actor = 'somebody else' WHERE seq = 3", "event 3"),
        ("UPDATE events SET at = at + 1 WHERE seq = 3", "event 3"),
        ("DELETE FROM events WHERE seq = 3", "events are missing"),
        ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", "events are missing"),
        ("DELETE FROM streams", "streams are not those"),
        ("UPDATE streams SET name = 'other'", "another name"),
        ("UPDATE facts SET value = '7' WHERE name = 'epoch'", "facts or keys"),
        ("DELETE FROM facts", "facts or keys"),
        ("UPDATE keys SET scopes = 'admin'", "facts or keys"),
        ("DELETE FROM keys", "facts or keys"),
        ("ALTER TABLE streams RENAME TO dreams", "no table 'streams'"),
    ],
)
def test_what_does_not_is_refused(kept, statement, said):
    path, _ = kept
    change(path, statement)
    with pytest.raises(DamagedError, match=said) as caught, opened(path) as store:
        check_at_start(store)
    assert "\n" not in str(caught.value)


def test_a_large_store_is_checked_beside_the_work(kept, monkeypatch):
    path, _ = kept
    monkeypatch.setattr("qufur.service.verification.AT_START", 10)
    change(path, "UPDATE events SET actor = 'somebody else' WHERE seq = 3")

    async def fault(app):
        async with app.router.lifespan_context(app):
            writer, end = app.state.writer, time.monotonic() + 20
            while writer.fault is None:
                assert time.monotonic() < end
                await asyncio.sleep(0.01)
            with pytest.raises(UnavailableError, match="event 3"):
                writer.call(lambda service: None)
            return writer.fault

    with opened(path) as store:
        assert "damaged at event 3" in asyncio.run(fault(create_app(store)))


def test_an_index_that_is_damaged_beside_the_work_is_not_written_to(kept, monkeypatch):
    path, witness = kept
    monkeypatch.setattr("qufur.service.verification.AT_START", 10)
    change(path, "DELETE FROM examples WHERE seq = 20")
    with opened(path) as store, pytest.raises(DamagedError, match="`qufur verify` repairs it"):
        check_at_start(store)()
    with opened(path) as store:
        assert verify(store) == [
            ("numbers", store.last(1), witness.digest, ["the index of examples was made again"])
        ]


def test_an_end_that_is_missing_is_noted_beside_the_store(kept):
    path, _ = kept
    with opened(path, writing=False) as store:
        last = store.last(1)
    for table in ("events", "examples", "snapshots"):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"DELETE FROM {table} WHERE seq > ?", (last - 3,))
    with pytest.raises(DamagedError, match=r"last events are missing\. Restore a backup; if this is one,"):
        opened(path)
    path.with_name("a.db.mark").unlink()  # as the sentence says for a backup
    with opened(path) as store:
        assert check_at_start(store) is None


def test_a_note_that_cannot_be_read_is_none(kept):
    path, _ = kept
    mark = path.with_name("a.db.mark")
    for content in (b"", b"x", bytes(80), mark.read_bytes()[:-1], mark.read_bytes()[:-1] + b"x"):
        mark.write_bytes(content)
        with opened(path) as store:
            assert check_at_start(store) is None
