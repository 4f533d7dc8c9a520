"""Calls of a labeller: several at once, not too many a second, and again where one fails."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from qufur.labelling.journal import Request

LONGEST_PAUSE = 60.0
"""Seconds before a call is made again, at most."""


class CallError(ValueError):
    """A call that brought no label, and why."""


@dataclass(frozen=True)
class Terms:
    """How calls are made.

    Parameters
    ----------
    jobs
        How many at once.
    retries
        How often one is made again after it failed.
    rate
        How many begin per second at most.
    pause
        Seconds before one is made again; twice as many each time.
    """

    jobs: int = 1
    retries: int = 2
    rate: float = math.inf
    pause: float = 0.5


class Record(Protocol):
    """What is told of every call: `Journal`, or nobody."""

    def affords(self, calls: int) -> bool:
        """Return whether there is money for so many calls more."""

    def begin(self, requests: Iterable[Request]) -> None:
        """Take note of calls that are going to be made."""

    def end(self, request: Request, answer: Any) -> None:
        """Take note of an answer."""

    def fail(self, request: Request, why: str) -> None:
        """Take note of a call without one."""


class Outcome(NamedTuple):
    """How a call ended, after all attempts: a label, None if the row is skipped, or an error."""

    request: Request
    label: Any
    error: Exception | None


class Calls:
    """Calls that wait, and calls that are being made.

    Parameters
    ----------
    make
        Begins a call.
    read
        Returns the label of an answer, None for a row that is skipped, or raises a `ValueError`.
    record
        Is told of calls before they are made, and of answers before the next ones are.
    terms
        How many at once, how fast, how often again.
    """

    def __init__(
        self,
        make: Callable[[Request], Future[Any]],
        read: Callable[[Request, Any], Any],
        record: Record,
        terms: Terms,
    ) -> None:
        self._make, self._read, self._record, self.terms = make, read, record, terms
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, Request, int]] = []
        self._running: dict[Future[Any], tuple[Request, int]] = {}
        self._next_start = 0.0

    def add(self, request: Request) -> None:
        """Let a call be made when its turn comes."""
        heapq.heappush(self._waiting, (0.0, next(self._order), request, 0))

    @property
    def wants_more(self) -> bool:
        """Whether places are free, and money is there, for more calls than wait."""
        now = time.monotonic()
        startable = sum(when <= now for when, *_ in self._waiting)
        return startable < self.terms.jobs - len(self._running) and self._record.affords(startable + 1)

    @property
    def out_of_money(self) -> bool:
        """Whether no further call can be paid."""
        return not self._record.affords(1)

    @property
    def over(self) -> bool:
        """Whether nothing is being done, nor will be."""
        return not self._running and (not self._waiting or self.out_of_money)

    def collect(self) -> list[Outcome]:
        """Begin what can be begun, wait for something to happen, and return what has ended for good."""
        self._start()
        pause = self._until_next_start()
        if not self._running:
            time.sleep(pause or 0.0)
            return []
        done, _ = wait(self._running, pause, FIRST_COMPLETED)
        outcomes = [self._ended(*self._running[future], future) for future in done]
        for future in done:
            del self._running[future]
        return [outcome for outcome in outcomes if outcome is not None]

    def _start(self) -> None:
        ready: list[tuple[Request, int]] = []
        now = time.monotonic()
        while self._can_start(len(ready), now):
            _, _, request, attempt = heapq.heappop(self._waiting)
            ready.append((request, attempt))
            self._next_start = max(now, self._next_start) + 1 / self.terms.rate
        if ready:
            self._record.begin(request for request, _ in ready)
        for request, attempt in ready:
            self._running[self._make(request)] = request, attempt

    def _can_start(self, besides: int, now: float) -> bool:
        if not self._waiting or len(self._running) + besides >= self.terms.jobs:
            return False
        return max(self._waiting[0][0], self._next_start) <= now and self._record.affords(besides + 1)

    def _until_next_start(self) -> float | None:
        """Return for how many seconds nothing can begin; None if until a call ends."""
        if not self._waiting or len(self._running) >= self.terms.jobs or self.out_of_money:
            return None
        return max(0.0, max(self._waiting[0][0], self._next_start) - time.monotonic())

    def _ended(self, request: Request, attempt: int, future: Future[Any]) -> Outcome | None:
        """Return how a call ended, unless it is made again."""
        try:
            answer = future.result()
            label = self._read(request, answer)
        except Exception as error:  # a labeller may raise anything
            self._record.fail(request, str(error))
            if attempt >= self.terms.retries:
                return Outcome(request, None, error)
            again = time.monotonic() + min(self.terms.pause * 2**attempt, LONGEST_PAUSE)
            heapq.heappush(self._waiting, (again, next(self._order), request, attempt + 1))
            return None
        self._record.end(request, answer)
        return Outcome(request, label, None)
