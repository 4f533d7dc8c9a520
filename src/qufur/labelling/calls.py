"""Calls of a labeller with limits on concurrency, rate and retries."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

from qufur.labelling.journal import CallLog, Request

MAX_PAUSE = 60.0
"""Maximum number of seconds before a retry."""


class CallError(ValueError):
    """A call failed to return a label."""


@dataclass(frozen=True)
class CallLimits:
    """Limits of calls.

    Parameters
    ----------
    jobs
        Number of concurrent calls.
    retries
        Number of retries of a failed call.
    rate
        Maximum number of calls started per second.
    pause
        Seconds before the first retry, doubled for each further one.
    """

    jobs: int = 1
    retries: int = 2
    rate: float = math.inf
    pause: float = 0.5


class Outcome(NamedTuple):
    """Final result of a call after all retries: a label, None for a skipped row, or an error."""

    request: Request
    label: Any
    error: Exception | None


class Calls:
    """Waiting and running calls.

    Parameters
    ----------
    make
        Function that starts a call.
    read
        Function that returns the label of an answer, None for a skipped row, or raises `ValueError`.
    log
        Log of calls, written before calls start and before the calls that follow an answer.
    limits
        Limits on concurrency, rate and retries.
    """

    def __init__(
        self,
        make: Callable[[Request], Future[Any]],
        read: Callable[[Request, Any], Any],
        log: CallLog,
        limits: CallLimits,
    ) -> None:
        self._make, self._read = make, read
        self._log, self.limits = log, limits
        self._order = itertools.count()
        self._pending: list[tuple[float, int, Request, int]] = []
        self._running: dict[Future[Any], tuple[Request, int]] = {}
        self._next_start = 0.0

    def add(self, request: Request) -> None:
        """Add a call to the queue."""
        heapq.heappush(self._pending, (0.0, next(self._order), request, 0))

    @property
    def wants_more(self) -> bool:
        """Whether jobs are free, and the spending limit allows, more calls than are waiting."""
        now = time.monotonic()
        startable = sum(when <= now for when, *_ in self._pending)
        return startable < self.limits.jobs - len(self._running) and self._log.affords(startable + 1)

    @property
    def out_of_money(self) -> bool:
        """Whether the spending limit allows no further call."""
        return not self._log.affords(1)

    @property
    def over(self) -> bool:
        """Whether no call is running and none can start."""
        return not self._running and (not self._pending or self.out_of_money)

    def collect(self) -> list[Outcome]:
        """Start calls within the limits, wait for one to end, and return the final results."""
        self._start()
        start = self._earliest_start(0)
        pause = None if start == math.inf else max(0.0, start - time.monotonic())
        if not self._running:
            time.sleep(pause or 0.0)
            return []
        done, _ = wait(self._running, pause, FIRST_COMPLETED)
        outcomes = [self._finish(*self._running[future], future) for future in done]
        for future in done:
            del self._running[future]
        return [outcome for outcome in outcomes if outcome is not None]

    def _start(self) -> None:
        ready: list[tuple[Request, int]] = []
        now = time.monotonic()
        while self._earliest_start(len(ready)) <= now:
            _, _, request, attempt = heapq.heappop(self._pending)
            ready.append((request, attempt))
            self._next_start = max(now, self._next_start) + 1 / self.limits.rate
        if ready:
            self._log.begin(request for request, _ in ready)
        for request, attempt in ready:
            self._running[self._make(request)] = request, attempt

    def _earliest_start(self, starting: int) -> float:
        """Return when a call may start after `starting` others; ∞ if that depends on a running call."""
        has_job = len(self._running) + starting < self.limits.jobs
        if not self._pending or not has_job or not self._log.affords(starting + 1):
            return math.inf
        return max(self._pending[0][0], self._next_start)

    def _finish(self, request: Request, attempt: int, future: Future[Any]) -> Outcome | None:
        """Log the end of a call; return its final result, or None if it is retried."""
        try:
            answer = future.result()
            label = self._read(request, answer)
        except Exception as error:  # a labeller may raise anything
            self._log.fail(request, str(error))
            if attempt >= self.limits.retries:
                return Outcome(request, None, error)
            retry_at = time.monotonic() + min(self.limits.pause * 2**attempt, MAX_PAUSE)
            heapq.heappush(self._pending, (retry_at, next(self._order), request, attempt + 1))
            return None
        self._log.end(request, answer)
        return Outcome(request, label, None)
