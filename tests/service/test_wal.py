"""A write that was cut off is told apart from damage, in SQLite's write-ahead log."""

import random
import shutil
import sqlite3
from contextlib import closing

import pytest

from qufur.service.events import DamagedError
from qufur.service.wal import FRAME, HEADER, check_wal

PAGE = FRAME + 4096


@pytest.fixture
def log(tmp_path):
    """Return the file of a store, what is in its log, and where the last transaction begins there."""
    path, kept = tmp_path / "a.db", tmp_path / "kept.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE a (b)")
        for number in range(4):
            before = (tmp_path / "a.db-wal").stat().st_size
            with connection:
                connection.execute("INSERT INTO a VALUES (randomblob(?))", (5000 * (1 + number % 2),))
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{kept}{end}")
    return str(kept), (tmp_path / "kept.db-wal").read_bytes(), before


def is_sound(path, content):
    with open(f"{path}-wal", "wb") as file:
        file.write(content)
    try:
        check_wal(path)
    except DamagedError:
        return False
    return True


def test_a_log_that_is_sound(log):
    path, content, _ = log
    assert is_sound(path, content)
    assert is_sound(path, b"")
    assert is_sound(path, bytes(len(content)))


def test_every_flipped_bit_is_damage(log):
    path, content, _ = log
    draws = random.Random(0)
    places = [*range(8 * HEADER), *range(8 * (len(content) - PAGE), 8 * (len(content) - PAGE + FRAME + 40))]
    places += [draws.randrange(8 * len(content)) for _ in range(300)]
    for place in places:
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        assert not is_sound(path, flipped), place


def test_a_transaction_that_was_cut_off_is_none(log):
    path, content, last = log
    for end in range(last, len(content), 512):
        assert is_sound(path, content[:end])
    for sector in range(-(-last // 512), len(content) // 512):
        torn = bytearray(content)
        torn[sector * 512 : (sector + 1) * 512] = bytes(512)
        assert is_sound(path, torn), sector


def test_what_is_missing_before_the_last_transaction_is_damage(log):
    path, content, last = log
    for sector in [*range(1, (last - PAGE) // 512), (last - PAGE) // 512 + 2]:
        torn = bytearray(content)
        torn[sector * 512 : (sector + 1) * 512] = bytes(512)
        if torn != content:
            assert not is_sound(path, torn), sector


def test_what_is_left_of_an_older_log_is_none(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE a (b)")
        for size in (50_000, 10, 10):
            with connection:
                connection.execute("INSERT INTO a VALUES (randomblob(?))", (size,))
            check_wal(str(path))
            connection.execute("PRAGMA wal_checkpoint").fetchall()
        check_wal(str(path))
