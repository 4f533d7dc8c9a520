"""Driver: sends the blocks of a dataset to the deciding actor in order, and writes the answers to disk."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from qufur.cluster.dataset_record import Record
from qufur.cluster.sources import in_order
from qufur.errors import invalid

IN_FLIGHT = 3
"""Maximum number of blocks queued at the actor: while it is busy, workers pause."""
SECONDS = 5.0
"""Shortest time in seconds between two writes of the decided rows."""
SHARE = 0.1
"""Largest share of the time spent on writes."""
TRIES = 5
"""Maximum number of replacements of the actor without any progress on disk."""


class Block(NamedTuple):
    """Block of encoded rows: number of its first row, number of rows, and object reference."""

    first: int
    rows: int
    ref: Any


def blocks_of(dataset: Any, first: int) -> Iterator[Block]:
    """Yield the blocks of a dataset in order, as they are produced; row numbers start at `first`."""
    with in_order(dataset):
        for bundle in dataset.iter_internal_ref_bundles():
            for ref, metadata in zip(bundle.block_refs, bundle.metadata, strict=True):
                yield Block(first, metadata.num_rows, ref)
                first += metadata.num_rows


class Feed:
    """Iterator over the blocks of a dataset, as a Ray actor.

    Parameters
    ----------
    dataset, first
        See `blocks_of`.
    """

    def __init__(self, dataset: Any, first: int) -> None:
        self._blocks = blocks_of(dataset, first)

    def next(self) -> Block | None:
        """Return the next block, or None after the last."""
        return next(self._blocks, None)


@contextmanager
def feeding(ray: Any, dataset: Any, first: int) -> Iterator[Iterator[Block]]:
    """Yield the blocks of a dataset, executed in this process or, for ray:// clients, on the cluster.

    Ray cannot execute a dataset in a process that is connected by ray://.
    """
    if not ray.util.client.ray.is_connected():
        yield blocks_of(dataset, first)
        return
    feed = ray.remote(num_cpus=0, max_restarts=0)(Feed).remote(dataset, first)
    try:
        yield iter(lambda: ray.get(feed.next.remote()), None)
    finally:
        ray.kill(feed)


class Driver:
    """Driver of the actor that decides a dataset.

    Parameters
    ----------
    ray
        The module.
    actor
        A `Decider` that resumes at the end of the record.
    record
        The files of the dataset.
    """

    def __init__(self, ray: Any, actor: Any, record: Record) -> None:
        self._ray, self._actor, self._record = ray, actor, record
        self._sent: deque[Any] = deque()
        self._answers: list[Any] = []
        self._written, self._cost = time.monotonic(), 0.0

    def decide(self, blocks: Iterable[Block]) -> None:
        """Decide all rows that are not in the record."""
        for block in blocks:
            if block.first + block.rows > self._record.done:
                self._sent.append(self._actor.take.remote(block.first, block.ref))
                self._receive(IN_FLIGHT)
                elapsed = time.monotonic() - self._written
                if elapsed > SECONDS and elapsed * SHARE > self._cost:
                    self._write()
        self._receive(0)
        self._answers.append(self._ray.get(self._actor.finish.remote()))
        if self._answers == [None] and not self._record.done:
            raise invalid("dataset", "cluster.ask", "of at least one row", "none")
        self._write()

    def _receive(self, in_flight: int) -> None:
        """Wait until at most `in_flight` blocks are undecided."""
        while len(self._sent) > in_flight:
            self._answers.append(self._ray.get(self._sent.popleft()))

    def _write(self) -> None:
        start = time.monotonic()
        self._receive(0)
        packed = self._ray.get(self._actor.packed.remote())
        self._record.write(packed, [table for table in self._answers if table is not None])
        self._answers.clear()
        self._written = time.monotonic()
        self._cost = self._written - start
