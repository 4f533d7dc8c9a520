"""Flipped bits in a store: it is refused in one sentence, or everything is there."""

import random
import shutil

import pytest
from tests.service.doors import Direct
from tests.service.witness import NUMBERS, RECORDS, Witness
from tests.soak import SOAK

from qufur.service.access import Keys
from qufur.service.app import create_app
from qufur.service.events import DamagedError
from qufur.service.store import Store, StoreError

STREAMS = ("numbers", "numbers", "numbers", "records") if SOAK else ("numbers",)
FLIPS = 500 if SOAK else 50
"""In each of the two files."""


@pytest.fixture
def kept(tmp_path_factory, few_trees):
    """Return a store with a snapshot in it, once wholly in its file and once with much in its log."""
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
    for end in ("", "-wal"):  # as a process leaves it that is killed
        shutil.copy(folder / f"file.db{end}", folder / f"log.db{end}")
    Keys(door.store).add("somebody", ["read"])
    door.close()
    assert (folder / "log.db-wal").stat().st_size > 10_000
    return folder, witness


def work(door, draws, witness, steps):
    for description in (NUMBERS, RECORDS):
        if description["name"] in STREAMS:
            door.create(description)
    for _ in range(steps):
        witness.step(door, draws)
    door.call(lambda service: service.keep_snapshots(all_changed=True))


@pytest.mark.parametrize("name", ["file.db", "log.db-wal"])
def test_a_flipped_bit_is_seen_or_does_no_harm(kept, tmp_path, name):
    folder, witness = kept
    refused, sentences, draws = 0, set(), random.Random(1)
    for _ in range(FLIPS):
        sentence = start_with_a_flip(folder, tmp_path, name, draws, witness)
        refused += sentence is not None
        sentences.add(sentence)
    print(f"{FLIPS} bits flipped in {name}: {refused} times refused, else nothing was lost")
    print(*filter(None, sentences), sep="\n")


def start_with_a_flip(folder, to, name, draws, witness):
    """Return why the service did not start; if it did, everything has to be there."""
    for path in folder.glob(f"{name.removesuffix('-wal')}*"):
        shutil.copy(path, to)
    flip(to / name, draws)
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


def flip(path, draws):
    content = bytearray(path.read_bytes())
    place = draws.randrange(8 * len(content))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def sentence_of(error):
    sentence = str(error)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence
