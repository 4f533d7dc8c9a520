"""HTTP connections with a time limit for requests, a size limit for headers, and a maximum number.

uvicorn limits how long a connection stays idle after a response. It limits neither the time in which a
request arrives, nor the size of its header, nor the number of connections: clients that send half a request
would keep their file descriptors forever, until the store has none left to open its own files.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

try:
    import resource
except ModuleNotFoundError:  # Windows has no limit on file descriptors
    resource = None  # type: ignore[assignment]

REQUEST_SECONDS = 20
"""Time for a request to arrive, plus what `MIN_RATE` allows for the bytes that have arrived."""
MIN_RATE = 16_384
"""Bytes per second that a large body has to keep up."""
MAX_HEADER_BYTES = 65_536
"""Bytes of a request that are not body. Each body byte allows `CHUNK_OVERHEAD` more, for chunked bodies."""
CHUNK_OVERHEAD = 8
RESERVED_FILES = 64
"""File descriptors that connections leave to the store, the log and the process that fits experts."""
TICK_SECONDS = 1.0
"""Seconds between two checks of a connection."""
_NUMBERS = itertools.count(1)


class TimedConnection(HttpToolsProtocol):
    """Connection that closes itself when a request stays incomplete.

    Time is counted in ticks of the event loop: while the loop is blocked, no connection ages.
    """

    _ticks: int | None = 0
    """Ticks for which a request has been incomplete; None while a complete request is being answered."""
    _received = 0
    _overhead = 0
    _number = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._number = next(_NUMBERS)
        self.loop.call_later(TICK_SECONDS, self._tick)
        if len(self.connections) > _max_connections():
            # Close the least important connection, perhaps this one.
            candidates = [each for each in self.connections if isinstance(each, TimedConnection)]
            max(candidates, key=TimedConnection._rank).transport.abort()

    def _rank(self) -> tuple[float, float]:
        """Rank slow requests first, then idle connections, then new ones, then requests being answered."""
        if self.transport.is_closing():
            return -2.0, 0.0
        if self._ticks is None:
            return (0.5 if self.cycle.response_complete else -1.0), -self._number
        return self._ticks, -self._number

    def data_received(self, data: bytes) -> None:
        if self._ticks is None:
            self._ticks = 0
        self._received += len(data)
        self._overhead += len(data)
        super().data_received(data)
        if self._overhead > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The header of a request can have at most {MAX_HEADER_BYTES} bytes.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._ticks = 0

    def on_body(self, body: bytes) -> None:
        self._overhead -= (1 + CHUNK_OVERHEAD) * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._ticks, self._received, self._overhead = None, 0, 0

    def _tick(self) -> None:
        """Age an incomplete request. Reading is paused while the application handles what has arrived."""
        if self.transport.is_closing():
            return
        if self._ticks is not None and not self.flow.read_paused:
            self._ticks += 1
            # After an early answer, such as 413, the rest of the body gets no more time.
            is_answered = self.cycle is not None and self.cycle.response_complete
            extra = 0.0 if is_answered else self._received / MIN_RATE
            if self._ticks * TICK_SECONDS > REQUEST_SECONDS + extra:
                self.transport.close()
                return
        self.loop.call_later(TICK_SECONDS, self._tick)


def _max_connections() -> float:
    if resource is None:
        return math.inf
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if files == resource.RLIM_INFINITY else max(1, files - RESERVED_FILES)


def server_config(app: Any, **options: Any) -> uvicorn.Config:
    """Return the uvicorn settings shared by all servers of this package. WebSockets are disabled."""
    return uvicorn.Config(app, log_config=None, access_log=False, http=TimedConnection, ws="none", **options)
