"""How far a store on SQLite had come, in a file beside it.

A log whose end is missing is sound as far as it goes, and SQLite takes a damaged end for one that was never
written. The last event that was written is therefore noted beside the store as well. The note is made after
each commit and not synced: it is never ahead of the log, whatever is cut off or killed.
"""

from __future__ import annotations

import hashlib
import os
import struct
from contextlib import suppress
from io import FileIO

from qufur.service.events import SIZE

BODY = f"<qq{SIZE}s"
Last = tuple[int, int, bytes]
"""A stream, and the number and the hash of an event."""


class Mark:
    """The file beside a store."""

    def __init__(self, file: str) -> None:
        self.path = f"{file}.mark"
        self._file: FileIO | None = None

    def read(self) -> Last | None:
        """Return the last event that was noted; None if there is no note, or none that can be read."""
        try:
            with open(self.path, "rb") as file:
                content = file.read()
        except OSError:
            return None
        body = content[SIZE:]
        is_sound = len(body) == struct.calcsize(BODY) and content[:SIZE] == _digest(body)
        return struct.unpack(BODY, body) if is_sound else None

    def note(self, last: Last) -> None:
        """Note an event that is written; without space the note before it stands."""
        with suppress(OSError):
            if self._file is None:
                found = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
                self._file = open(found, "wb", buffering=0)  # noqa: SIM115
            body = struct.pack(BODY, *last)
            self._file.seek(0)
            self._file.write(_digest(body) + body)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=SIZE).digest()
