"""The service log: one JSON line per event.

The log contains no inputs, labels or keys. Of an exception it has the type and the traceback's locations, but
not the message, because that may contain a value.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import traceback
from io import FileIO
from typing import Any, BinaryIO

import msgspec

EVENTS = logging.getLogger("qufur.service")
SERVER = logging.getLogger("uvicorn")
_encode = msgspec.json.Encoder().encode


class JsonLogHandler(logging.Handler):
    """Handler that writes records as JSON lines; `write_batched` also writes one line per request."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._second, self._timestamp = -1, ""
        self._pending: list[bytes] = []

    def write(self, **fields: Any) -> None:
        """Write one line with the time. A failed write is ignored: the service must not depend on its log."""
        with contextlib.suppress(OSError):
            self._file.write(self._line(fields))

    def write_batched(self, **fields: Any) -> None:
        """Write one line with all others of this iteration of the event loop: each write takes time."""
        if not self._pending:
            asyncio.get_running_loop().call_soon(self.flush)
        self._pending.append(self._line(fields))

    def flush(self) -> None:
        """Write the batched lines."""
        lines, self._pending = self._pending, []
        if lines:
            with contextlib.suppress(OSError):
                self._file.write(b"".join(lines))

    def _line(self, fields: dict[str, Any]) -> bytes:
        return _encode({"at": self._now(), **fields}) + b"\n"

    def emit(self, record: logging.LogRecord) -> None:
        """Write a log record."""
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
        if second != self._second:  # strftime takes longer than everything else here
            self._second, self._timestamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._timestamp}.{int(1000 * (now - second)):03d}Z"


def log_event(event: str, **fields: Any) -> None:
    """Log an event of the service with its fields."""
    EVENTS.info(event, extra={"fields": fields})


def log_to(file: BinaryIO | None = None) -> JsonLogHandler:
    """Configure logging to write JSON lines to a file, by default standard error."""
    handler = JsonLogHandler(file or FileIO(2, "w", closefd=False))
    for logger, level in ((EVENTS, logging.INFO), (SERVER, logging.WARNING)):
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
    return handler
