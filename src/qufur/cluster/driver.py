"""The driver: hands blocks to the actor in order, a few at a time, and writes down what comes back."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from qufur.cluster.feed import Block
from qufur.cluster.record import Record
from qufur.errors import invalid

IN_FLIGHT = 3
"""Blocks that wait for the actor: while it is busy, no more are taken from the workers, who then pause."""
SECONDS = 5.0
"""After so long, what was decided is written."""
SHARE = 0.1
"""Of the time that may be spent on that."""
TRIES = 5
"""How often an actor is replaced that died before anything was written."""


class Driver:
    """Has the blocks of a dataset decided by one actor.

    Parameters
    ----------
    ray
        The module.
    actor
        A `Decider` that goes on from the record.
    record
        What is on disk.
    """

    def __init__(self, ray: Any, actor: Any, record: Record) -> None:
        self._ray, self._actor, self._record = ray, actor, record
        self._sent: deque[Any] = deque()
        self._answers: list[Any] = []
        self._written, self._cost = time.monotonic(), 0.0

    def decide(self, blocks: Iterable[Block]) -> None:
        """Decide all rows that the record does not have."""
        for block in blocks:
            if block.first + block.rows > self._record.done:
                self._sent.append(self._actor.take.remote(block.first, block.ref))
                self._receive(IN_FLIGHT)
                if self._due:
                    self._write()
        self._receive(0)
        self._answers.append(self._ray.get(self._actor.finish.remote()))
        if self._answers == [None] and not self._record.done:
            raise invalid("dataset", "cluster.ask", "of at least one row", "none")
        self._write()

    @property
    def _due(self) -> bool:
        elapsed = time.monotonic() - self._written
        return elapsed > SECONDS and elapsed * SHARE > self._cost

    def _receive(self, left: int) -> None:
        """Wait until no more than so many blocks are undecided."""
        while len(self._sent) > left:
            self._answers.append(self._ray.get(self._sent.popleft()))

    def _write(self) -> None:
        began = time.monotonic()
        self._receive(0)
        packed = self._ray.get(self._actor.packed.remote())
        self._record.write(packed, [table for table in self._answers if table is not None])
        self._answers.clear()
        self._written = time.monotonic()
        self._cost = self._written - began
