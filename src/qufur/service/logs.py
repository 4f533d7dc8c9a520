"""What is written down for whoever runs the service: one line of JSON for each thing that happened.

Inputs, labels and keys are in none of them. Of an error there is what kind it is and where it happened, and
not what it says, as that may have a value in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import traceback
from io import FileIO
from typing import Any, Protocol

import msgspec

EVENTS = logging.getLogger("qufur.service")
SERVER = logging.getLogger("uvicorn")
_encode = msgspec.json.Encoder().encode


class Writable(Protocol):
    """Something that takes bytes."""

    def write(self, line: bytes, /) -> object:
        """Take them."""


class Lines(logging.Handler):
    """Writes lines of JSON: what Python's loggers say, and by `write_soon` every request."""

    def __init__(self, file: Writable) -> None:
        super().__init__()
        self._file = file
        self._second, self._shown = -1, ""
        self._waiting: list[bytes] = []

    def write(self, **fields: Any) -> None:
        """Write one line, with the time; where that fails the service goes on without."""
        with contextlib.suppress(OSError):
            self._file.write(self._line(fields))

    def write_soon(self, **fields: Any) -> None:
        """Write one line with all others of this turn of the event loop: each write takes a while."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(self._line(fields))

    def flush(self) -> None:
        """Write the lines that wait."""
        lines, self._waiting = self._waiting, []
        if lines:
            with contextlib.suppress(OSError):
                self._file.write(b"".join(lines))

    def _line(self, fields: dict[str, Any]) -> bytes:
        return _encode({"at": self._now(), **fields}) + b"\n"

    def emit(self, record: logging.LogRecord) -> None:
        """Write what a logger says."""
        fields: dict[str, Any] = {"level": record.levelname.lower(), "event": record.getMessage()}
        fields |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])
            where = [f"{frame.filename}:{frame.lineno}" for frame in frames]
            fields |= {"error": record.exc_info[0].__name__, "where": where}
        self.write(**fields)

    def _now(self) -> str:
        now = time.time()
        second = int(now)
        if second != self._second:  # which takes longer than all the rest
            self._second, self._shown = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._shown}.{int(1000 * (now - second)):03d}Z"


def log_event(event: str, **fields: Any) -> None:
    """Write down something in the life of the service."""
    EVENTS.info(event, extra={"fields": fields})


def log_to(file: Writable | None = None) -> Lines:
    """Let everything be written as lines of JSON, by default to the standard error."""
    lines = Lines(file or FileIO(2, "w", closefd=False))
    for logger, level in ((EVENTS, logging.INFO), (SERVER, logging.WARNING)):
        logger.addHandler(lines)
        logger.setLevel(level)
        logger.propagate = False
    return lines
