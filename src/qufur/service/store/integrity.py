"""Integrity checks of a store beyond the hash chain of its events.

* `HighWaterMark`: the last event, in a file beside a SQLite store. A log whose end is missing is still
  valid, and SQLite treats a damaged end as never written. The mark is written after each commit and not
  synced: it is never ahead of the log, even after a power cut or a kill.
* `checksum`, `verify_checksum`: a digest of the tables beside the log, the facts and the keys.
* `check_wal`: SQLite treats a damaged frame of its write-ahead log as the end of the log, as after a power
  cut, and silently drops the rest. The two cases differ: no other transaction follows one that was cut off.
  The high-water mark detects damage to the last transaction.
* `StoreFile`: another program can move, delete, replace or overwrite the file of a running server. SQLite
  then continues to write to a file without a name, or to one whose older pages are foreign, and the data of
  acknowledged requests is lost with the process. The store therefore checks the file after each commit,
  before the response is sent.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from itertools import dropwhile, pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, insert, select

from qufur.service.store import schema
from qufur.service.store.events import SIZE, DamagedError, digest_of, encode

MARK_FORMAT = f"<qq{SIZE}s"
EventMark = tuple[int, int, bytes]
"""Number of a stream, number and hash of one of its events."""
CHECKSUM_FACT = "seal"
"""Name of the fact that holds the checksum."""
HEADER_BYTES, FRAME_BYTES = 32, 24
"""Sizes of the headers of the write-ahead log and of a frame."""
WORD_TYPES = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""Byte order of the words in checksums, by the magic number of the write-ahead log."""
DAMAGED_WAL = "The store is damaged: its write-ahead log is not what was written. Restore a backup."
CHECKPOINT_BYTES = 2**22
"""Bytes in the write-ahead log that trigger a checkpoint: SQLite's default."""
COMMIT_BYTES = 2**14
"""Bytes that a commit adds to the write-ahead log beside its payloads, about four pages."""

Words = np.ndarray[tuple[int], np.dtype[np.uint32]]
Sum = tuple[int, int]
Identity = tuple[int, ...]


class HighWaterMark:
    """Record of the last event, in a file beside the store."""

    def __init__(self, file: str) -> None:
        self.path = f"{file}.mark"
        self._file: FileIO | None = None

    def read(self) -> EventMark | None:
        """Return the recorded event; None if the file is missing or damaged."""
        try:
            with open(self.path, "rb") as file:
                content = file.read()
        except OSError:
            return None
        body = content[SIZE:]
        is_valid = len(body) == struct.calcsize(MARK_FORMAT) and content[:SIZE] == digest_of(body)
        return struct.unpack(MARK_FORMAT, body) if is_valid else None

    def write(self, last: EventMark) -> None:
        """Record a committed event; if the disk is full, the previous record stays."""
        with suppress(OSError):
            if self._file is None:
                descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
                self._file = open(descriptor, "wb", buffering=0)  # noqa: SIM115
            body = struct.pack(MARK_FORMAT, *last)
            self._file.seek(0)
            self._file.write(digest_of(body) + body)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def checksum(connection: Connection) -> None:
    """Store the checksum of the facts and keys; call it with every change of them."""
    facts = schema.facts
    # A concurrent update of the checksum waits for this lock, and then sees this change.
    connection.execute(select(facts.c.value).where(facts.c.name == CHECKSUM_FACT).with_for_update()).all()
    digest = _facts_digest(connection)
    connection.execute(delete(facts).where(facts.c.name == CHECKSUM_FACT))
    connection.execute(insert(facts), {"name": CHECKSUM_FACT, "value": digest})


def verify_checksum(connection: Connection) -> None:
    """Raise `DamagedError` if the facts and keys do not match their checksum."""
    facts = schema.facts
    stored = connection.execute(select(facts.c.value).where(facts.c.name == CHECKSUM_FACT)).scalar()
    if stored != _facts_digest(connection):
        raise DamagedError(
            "The store is damaged: its facts or keys are not what was written. Restore a backup."
        )


def is_empty(connection: Connection) -> bool:
    """Return whether all tables of a store are empty."""
    rows = (connection.execute(select(table).limit(1)).first() for table in schema.metadata.sorted_tables)
    return all(row is None for row in rows)


def check_wal(file: str) -> None:
    """Raise `DamagedError` if the write-ahead log of a store is damaged; no process may write meanwhile."""
    path = f"{file}-wal"
    if not os.path.exists(path):
        return
    with open(path, "rb") as wal:
        content = wal.read()
    if len(content) < HEADER_BYTES or not any(content[:HEADER_BYTES]):
        return
    magic, _, page_size, _ = struct.unpack(">4I", content[:16])
    header_sum: Sum = struct.unpack(">2I", content[24:HEADER_BYTES])
    order = WORD_TYPES.get(magic)
    if order is None or _sum(_weights(24), np.frombuffer(content[:24], order), (0, 0)) != header_sum:
        raise DamagedError(DAMAGED_WAL)
    frames = _frames(content, page_size, order, header_sum)
    # Only the last transaction can have been cut off: no other transaction follows the first invalid frame.
    for (is_valid, commits), (is_next_valid, _) in pairwise(dropwhile(itemgetter(0), frames)):
        if is_valid and commits and is_next_valid:
            raise DamagedError(DAMAGED_WAL)


class StoreFileError(RuntimeError):
    """The file of the store is not the file that was opened."""


class StoreFile:
    """Identity of the database file and its write-ahead log.

    In WAL mode a commit writes to the log alone; only a checkpoint writes to the database file. No connection
    of this package makes automatic checkpoints: the writing process makes them through this class. Between
    two checkpoints, the inodes of both files and the size and modification time of the database file stay
    the same. The check takes two calls of `os.stat`.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._expected = self._identity()
        self._pending_bytes = 0

    def check(self) -> None:
        """Raise `StoreFileError` if another program touched the file; a running checkpoint checks itself."""
        if self._lock.acquire(blocking=False):
            try:
                self._compare()
            finally:
                self._lock.release()

    def check_commit(self, payload_bytes: int) -> bool:
        """Raise `StoreFileError` if a commit may be lost; return whether a checkpoint is due."""
        with self._lock:
            self._compare()
            self._pending_bytes += COMMIT_BYTES + payload_bytes
            return self._pending_bytes > CHECKPOINT_BYTES

    def checkpoint(self, cursor: Any, mode: str) -> bool:
        """Copy the write-ahead log to the database file; return False if a reader prevented part of it."""
        with self._lock:
            self._compare()
            try:
                busy, *_ = cursor.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                self._pending_bytes = 0
            finally:  # a failed checkpoint may have written some pages
                self._expected = self._identity()
        return not busy

    def _compare(self) -> None:
        identity = self._identity()
        if not identity or identity != self._expected:
            remedy = "Stop the server, put the file or a backup in its place, and start it again."
            change = "moved, deleted or overwritten while the server ran"
            raise StoreFileError(f"{os.path.basename(self._path)} was {change}. {remedy}")

    def _identity(self) -> Identity:
        try:
            file, log = os.stat(self._path), os.stat(f"{self._path}-wal")
        except OSError:
            return ()
        return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, log.st_dev, log.st_ino


def _facts_digest(connection: Connection) -> str:
    facts, keys = schema.facts, schema.keys
    rows = [
        *connection.execute(select(facts).where(facts.c.name != CHECKSUM_FACT).order_by(facts.c.name)),
        *connection.execute(select(keys).order_by(keys.c.id)),
    ]
    return digest_of(encode([list(row) for row in rows])).hex()


def _frames(content: bytes, page_size: int, order: str, previous: Sum) -> Iterator[tuple[bool, bool]]:
    """Yield for each frame whether its salt and checksum are valid, and whether it ends a transaction.

    A checksum covers the first 8 bytes of the frame's header and the page, and continues the `previous` one.
    """
    salt, size, weights = content[16:24], FRAME_BYTES + page_size, _weights(8 + page_size)
    for start in range(HEADER_BYTES, len(content) - size + 1, size):
        head, page = content[start : start + FRAME_BYTES], content[start + FRAME_BYTES : start + size]
        _, pages, _, _, first_sum, second_sum = struct.unpack(">6I", head)
        words = np.frombuffer(head[:8] + page, order)
        is_valid = head[8:16] == salt and _sum(weights, words, previous) == (first_sum, second_sum)
        yield is_valid, pages > 0
        previous = first_sum, second_sum


def _weights(size: int) -> tuple[Words, Words]:
    """Return the weight of each word of a block in the two sums: Fibonacci numbers modulo 2³²."""
    numbers = [0, 1]
    for _ in range(size // 4 - 1):
        numbers.append((numbers[-1] + numbers[-2]) % 2**32)
    backwards = np.array(numbers[::-1], dtype=np.uint32)
    return backwards[1:], backwards[:-1]


def _sum(weights: tuple[Words, Words], words: Words, previous: Sum) -> Sum:
    """Return SQLite's checksum of words, continued from the previous checksum."""
    terms = words.astype(np.uint32)
    # Starting at the previous sums equals adding them to the first two words.
    terms[:2] += np.array([sum(previous) % 2**32, previous[1]], dtype=np.uint32)
    return int((weights[0] * terms).sum(dtype=np.uint32)), int((weights[1] * terms).sum(dtype=np.uint32))
