"""Flipped bits in a store: it is refused in one sentence, or everything is there."""

import random
import shutil
import sqlite3
from contextlib import closing

import pytest
from tests.service.doors import Direct
from tests.service.witness import NUMBERS, RECORDS, Witness, example
from tests.soak import SOAK

from qufur.service.access import Keys
from qufur.service.app import create_app
from qufur.service.events import DamagedError
from qufur.service.store import Store, StoreError

STREAMS = ("numbers", "numbers", "numbers", "records") if SOAK else ("numbers",)
FLIPS = {"file.db": 400, "index of events": 200, "log.db-wal": 200, "end of log": 200}
"""Anywhere in a file, or where they would do the most harm; a tenth of them under `make test`."""


@pytest.fixture
def kept(tmp_path_factory, few_trees, monkeypatch):
    """Return a store with a snapshot in it, once wholly in its file and once with much in its log."""
    monkeypatch.setattr(Store, "_checkpoint_if_possible", lambda self: None)
    folder = tmp_path_factory.mktemp("kept")
    door, draws, witness = (
        Direct(Store(f"sqlite:///{folder / 'file.db'}")),
        random.Random(0),
        Witness(STREAMS),
    )
    work(door, draws, witness, 40)
    door.close()
    door = Direct(Store(f"sqlite:///{folder / 'file.db'}"))
    shutil.copy(folder / "file.db", folder / "log.db")
    work(door, draws, witness, 25)
    before = (folder / "file.db-wal").stat().st_size
    for _ in range(3):
        witness.ask(door, "numbers", example("numbers", witness.number(draws, more=10)))
    for end in ("", "-wal", ".mark"):  # as a process leaves it that is killed
        shutil.copy(folder / f"file.db{end}", folder / f"log.db{end}")
    Keys(door.store).add("somebody", ["read"])
    door.close()
    size = (folder / "log.db-wal").stat().st_size
    assert size > before > 10_000
    return (
        folder,
        witness,
        {"end of log": (size - (size - before) // 3, size), "index of events": index(folder)},
    )


def index(folder):
    """Return where the index of events begins and ends in the file of a store."""
    with closing(sqlite3.connect(folder / "file.db")) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_events_1'"
        ((page,),) = connection.execute(query).fetchall()
        ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    return (page - 1) * size, page * size


def work(door, draws, witness, steps):
    for description in (NUMBERS, RECORDS):
        if description["name"] in STREAMS:
            door.create(description)
    for _ in range(steps):
        witness.step(door, draws)
    door.call(lambda service: service.keep_snapshots(all_changed=True))


@pytest.mark.parametrize("place", FLIPS)
def test_a_flipped_bit_is_seen_or_does_no_harm(kept, tmp_path, place):
    folder, witness, ranges = kept
    name = {"index of events": "file.db", "end of log": "log.db-wal"}.get(place, place)
    where = ranges.get(place, (0, (folder / name).stat().st_size))
    flips, sentences, draws = FLIPS[place] if SOAK else FLIPS[place] // 10, [], random.Random(1)
    for _ in range(flips):
        sentences.append(start_with_a_flip(folder, tmp_path, name, where, draws, witness))
    refused = sum(sentence is not None for sentence in sentences)
    print(f"{flips} bits flipped, {place}: {refused} times refused, else nothing was lost")


def start_with_a_flip(folder, to, name, where, draws, witness):
    """Return why the service did not start; if it did, everything has to be there."""
    for path in folder.glob(f"{name.removesuffix('-wal')}*"):
        shutil.copy(path, to)
    flip(to / name, where, draws)
    try:
        store = Store(f"sqlite:///{to / name.removesuffix('-wal')}")
    except (DamagedError, StoreError) as error:
        return sentence_of(error)
    try:
        create_app(store)
    except DamagedError as error:
        store.close()
        return sentence_of(error)
    door = Direct(store)
    told = {"answers": witness.answers, "labels": witness.labels, "declined": witness.declined}
    try:
        Witness(witness.streams, **told).judge(door, store, draws, everything=True)
    finally:
        door.close()
    return None


def flip(path, where, draws):
    content = bytearray(path.read_bytes())
    place = draws.randrange(8 * where[0], 8 * where[1])
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def sentence_of(error):
    sentence = str(error)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence
