"""When to keep a snapshot: so that starting again takes about a second or two, at little cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from qufur.service.packing import Packed, pack
from qufur.service.stream import Stream

SECONDS = 1.0
"""Work that may have to be done again after a crash, at least."""
SHARE = 0.02
"""Of the time goes into snapshots, at most."""


class _Effort(NamedTuple):
    """Seconds of work since the last snapshot, and seconds that it took."""

    work: float = 0.0
    snapshot: float = 0.0


class Cadence:
    """How much was done with each stream since its last snapshot."""

    def __init__(self) -> None:
        self._efforts: dict[int, _Effort] = {}

    @contextmanager
    def work(self, stream: Stream) -> Iterator[None]:
        """Take note of the time that something takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            done = self._efforts.get(stream.number, _Effort())
            self._efforts[stream.number] = done._replace(work=done.work + time.perf_counter() - start)

    def forget(self, stream: Stream) -> None:
        """Discard what was recorded of a deleted stream."""
        self._efforts.pop(stream.number, None)

    def changed(self, stream: Stream) -> bool:
        """Return whether anything was done since the last snapshot."""
        return self._efforts.get(stream.number, _Effort()).work > 0

    def is_due(self, stream: Stream) -> bool:
        """Return whether it is time for a snapshot."""
        done = self._efforts.get(stream.number, _Effort())
        return done.work > max(SECONDS, done.snapshot / SHARE)

    def taken(self, stream: Stream) -> Packed:
        """Return the snapshot of a stream that is kept now."""
        start = time.perf_counter()
        packed = pack(stream)
        self._efforts[stream.number] = _Effort(0.0, time.perf_counter() - start)
        return packed
