"""The file of a SQLite store, watched while the store is open.

Another program can move, delete, replace or overwrite the file of a running server. SQLite then writes on to
a file without a name, or to one whose older pages are not its own, and the data of acknowledged requests is
lost with the process. The file is therefore checked after each commit, before the answer leaves.
"""

from __future__ import annotations

import os
import threading
from typing import Any

CHECKPOINT_BYTES = 2**22
"""Bytes in the write-ahead log after which they go to the database file: as many as SQLite's default."""
COMMIT_BYTES = 2**14
"""Bytes that a commit adds to the write-ahead log beside its payloads, about four pages."""

Identity = tuple[int, ...]


class StoreFileError(RuntimeError):
    """The file of the store is not the file that was opened."""


class StoreFile:
    """Identity of the database file and its write-ahead log.

    In WAL mode a commit writes to the log alone; only a checkpoint writes to the database file. No connection
    of this package makes checkpoints by itself, and the writing process makes them here. Between two of them
    the inodes of both files and the size and modification time of the database file stay the same. The check
    takes two calls of `os.stat`.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known = self._identity()
        self._pending = 0

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
            self._pending += COMMIT_BYTES + payload_bytes
            return self._pending > CHECKPOINT_BYTES

    def checkpoint(self, cursor: Any, mode: str) -> bool:
        """Copy the write-ahead log to the database file; return False if a reader prevented part of it."""
        with self._lock:
            self._compare()
            try:
                busy, *_ = cursor.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                self._pending = 0
            finally:  # one that fails may have written some pages
                self._known = self._identity()
        return not busy

    def _compare(self) -> None:
        identity = self._identity()
        if not identity or identity != self._known:
            remedy = "Stop the server, put the file or a backup in its place, and start it again."
            what = "moved, deleted or overwritten while the server ran"
            raise StoreFileError(f"{os.path.basename(self._path)} was {what}. {remedy}")

    def _identity(self) -> Identity:
        try:
            file, log = os.stat(self._path), os.stat(f"{self._path}-wal")
        except OSError:
            return ()
        return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, log.st_dev, log.st_ino
