"""Flipped bits in a store: either it is rejected with one message, or nothing is lost."""

import random
import shutil
import sqlite3
from contextlib import closing

import pytest
from tests.service.clients import DirectClient
from tests.service.witness import NUMBERS, RECORDS, Witness, example
from tests.soak import SOAK

from qufur.service.app import create_app
from qufur.service.auth import Keys
from qufur.service.store import Store, StoreError
from qufur.service.store.events import DamagedError

STREAMS = ("numbers", "numbers", "numbers", "records") if SOAK else ("numbers",)
FLIPS = {"file.db": 400, "index of events": 200, "log.db-wal": 200, "end of log": 200}
"""Number of flips by location: anywhere in a file, or in its most critical part; `make test` does a tenth."""


@pytest.fixture
def stored(tmp_path_factory, few_trees, monkeypatch):
    """Return a folder with a store with a snapshot, checkpointed and with a long write-ahead log."""
    monkeypatch.setattr(Store, "_checkpoint_if_possible", lambda self: None)
    folder = tmp_path_factory.mktemp("stored")
    client, draws, witness = (
        DirectClient(Store(f"sqlite:///{folder / 'file.db'}")),
        random.Random(0),
        Witness(STREAMS),
    )
    work(client, draws, witness, 40)
    client.close()
    client = DirectClient(Store(f"sqlite:///{folder / 'file.db'}"))
    shutil.copy(folder / "file.db", folder / "log.db")
    work(client, draws, witness, 25)
    before = (folder / "file.db-wal").stat().st_size
    for _ in range(3):
        witness.ask(client, "numbers", example("numbers", witness.number(draws, more=10)))
    for end in ("", "-wal", ".mark"):  # as after a kill
        shutil.copy(folder / f"file.db{end}", folder / f"log.db{end}")
    Keys(client.store).add("ada", ["read"])
    client.close()
    size = (folder / "log.db-wal").stat().st_size
    assert size > before > 10_000
    return (
        folder,
        witness,
        {"end of log": (size - (size - before) // 3, size), "index of events": index(folder)},
    )


def index(folder):
    """Return the start and end of the index of events in the file of a store."""
    with closing(sqlite3.connect(folder / "file.db")) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_events_1'"
        ((page,),) = connection.execute(query).fetchall()
        ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    return (page - 1) * size, page * size


def work(client, draws, witness, steps):
    for config in (NUMBERS, RECORDS):
        if config["name"] in STREAMS:
            client.create(config)
    for _ in range(steps):
        witness.step(client, draws)
    client.call(lambda service: service.save_snapshots(all_changed=True))


@pytest.mark.parametrize("location", FLIPS)
def test_flipped_bit_is_detected_or_harmless(stored, tmp_path, location):
    folder, witness, ranges = stored
    name = {"index of events": "file.db", "end of log": "log.db-wal"}.get(location, location)
    where = ranges.get(location, (0, (folder / name).stat().st_size))
    flips, messages, draws = FLIPS[location] if SOAK else FLIPS[location] // 10, [], random.Random(1)
    for _ in range(flips):
        messages.append(start_with_a_flip(folder, tmp_path, name, where, draws, witness))
    rejected = sum(message is not None for message in messages)
    print(f"{flips} bits flipped, {location}: {rejected} times rejected, else nothing was lost")


def start_with_a_flip(folder, to, name, where, draws, witness):
    """Return why the service did not start; if it did, check that nothing is lost."""
    for path in folder.glob(f"{name.removesuffix('-wal')}*"):
        shutil.copy(path, to)
    flip(to / name, where, draws)
    try:
        store = Store(f"sqlite:///{to / name.removesuffix('-wal')}")
    except (DamagedError, StoreError) as error:
        return message_of(error)
    try:
        create_app(store)
    except DamagedError as error:
        store.close()
        return message_of(error)
    client = DirectClient(store)
    acknowledged = {"answers": witness.answers, "labels": witness.labels, "declined": witness.declined}
    try:
        Witness(witness.streams, **acknowledged).check(client, store, draws, everything=True)
    finally:
        client.close()
    return None


def flip(path, where, draws):
    content = bytearray(path.read_bytes())
    location = draws.randrange(8 * where[0], 8 * where[1])
    content[location // 8] ^= 1 << location % 8
    path.write_bytes(content)


def message_of(error):
    message = str(error)
    assert "\n" not in message
    assert message.endswith(".")
    return message
