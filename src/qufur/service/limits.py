"""How much may be sent: sizes, and how often."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from qufur.service.refusals import RefusalError


class TooLargeError(RefusalError):
    """More than is taken at once."""

    status = 413


class TooManyRequestsError(RefusalError):
    """More requests than are taken in a second."""

    status = 429
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


@dataclass
class Limits:
    """What is taken at most.

    Parameters
    ----------
    body
        Bytes of a request.
    batch
        Examples or labels in a request.
    rate
        Requests a second from one key, on average; twice as many may come at once. None is any number.
    """

    body: int = 16 * 2**20
    batch: int = 10_000
    rate: float | None = None
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    def check_body(self, size: int) -> None:
        """Refuse a body that is too large."""
        if size > self.body:
            raise TooLargeError(f"A request has at most {self.body} bytes.")

    def check_batch(self, count: int) -> None:
        """Refuse too many examples."""
        if count > self.batch:
            raise TooLargeError(f"A request has at most {self.batch} examples, got {count}.")

    def check_rate(self, key: str) -> None:
        """Take note of a request; refuse it if too many came."""
        if self.rate is None:
            return
        now = time.monotonic()
        left, then = self._buckets.get(key, (2 * self.rate, now))
        left = min(2 * self.rate, left + (now - then) * self.rate)
        self._buckets[key] = left - 1 if left >= 1 else left, now
        if left < 1:
            raise TooManyRequestsError(f"At most {self.rate:g} requests a second are taken from a key.")
