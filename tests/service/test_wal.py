"""Distinction of an interrupted write from damage in SQLite's write-ahead log."""

import random
import shutil
import sqlite3
from contextlib import closing, suppress

import pytest
from tests.service import apsw_driver
from tests.service.cuts import new_disk
from tests.soak import cases

from qufur.service.store.events import DamagedError
from qufur.service.store.integrity import HEADER_BYTES, check_wal


@pytest.fixture
def log(tmp_path):
    """Return the file of a store, the content of its log, and where the last transaction begins."""
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


def test_wal_check_accepts_an_undamaged_log(log):
    path, content, _ = log
    assert is_sound(path, content)
    assert is_sound(path, b"")
    assert is_sound(path, bytes(len(content)))


def test_wal_check_detects_a_flipped_bit_before_the_last_transaction(log):
    path, content, _ = log
    draws = random.Random(0)
    for place in [*range(8 * HEADER_BYTES), *(draws.randrange(8 * len(content) // 2) for _ in range(300))]:
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        assert not is_sound(path, flipped), place


def test_wal_check_accepts_a_truncated_last_transaction(log):
    path, content, last = log
    for end in range(last, len(content), 512):
        assert is_sound(path, content[:end])
    for sector in range(-(-last // 512), len(content) // 512):
        torn = bytearray(content)
        torn[sector * 512 : (sector + 1) * 512] = bytes(512)
        assert is_sound(path, torn), sector


def test_wal_check_detects_missing_content_before_the_last_transaction(log):
    path, content, last = log
    for sector in range(1, last // 2 // 512):
        torn = bytearray(content)
        torn[sector * 512 : (sector + 1) * 512] = bytes(512)
        if torn != content:
            assert not is_sound(path, torn), sector


def test_wal_check_ignores_the_rest_of_an_older_log(tmp_path):
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


def test_wal_check_never_reports_a_power_cut_as_damage(tmp_path):
    cuts = cases(2_000, 300)
    draws, disk = random.Random(0), new_disk(0)
    for number in range(cuts):
        path = str(tmp_path / f"{number // 20}.db")
        disk.left = draws.randint(5, 150)
        with suppress(apsw_driver.Error):
            write_until_cut(disk, path, draws)
        disk.restore_power()
        check_wal(path)


def write_until_cut(disk, path, draws):
    """Write transactions of several sizes until the power is cut."""
    with closing(apsw_driver.Connection(path, disk.name)) as connection:
        connection.execute(f"PRAGMA wal_autocheckpoint={draws.choice([5, 20, 1000])}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS a (b)")
        while True:
            size = draws.choice([10, 3000, 20_000])
            connection.execute("INSERT INTO a VALUES (randomblob(?))", (size,))
            if draws.random() < 0.2:
                connection.execute("DELETE FROM a WHERE rowid < (SELECT max(rowid) FROM a) - 3")
