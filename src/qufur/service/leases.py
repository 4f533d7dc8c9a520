"""Leases of rows, so that no two annotators get the same row."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Sequence
from itertools import chain, islice
from typing import NamedTuple


class Lease(NamedTuple):
    """Lease of a row to an annotator, until a time of the monotonic clock."""

    person: str
    until: float


class Leases:
    """Leased rows of one stream. They are not stored: a restart releases them.

    Several threads may use one object: a lock makes each call atomic.

    Examples
    --------
    >>> leases = Leases()
    >>> leases.take("ada", ["a", "b", "c"], 2, 60.0)
    ['a', 'b']
    >>> leases.take("bob", ["a", "b", "c"], 2, 60.0), leases.take("ada", ["a", "b", "c"], 1, 60.0)
    (['c'], ['a'])
    >>> leases.take("eve", ["a", "d", "e"], 1, 60.0, first=["e"])
    ['e']
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases: dict[str, Lease] = {}
        # Rows that an annotator released; this annotator gets them last.
        self._skipped: dict[str, dict[str, None]] = {}

    def take(
        self, person: str, pending: Collection[str], count: int, seconds: float, first: Sequence[str] = ()
    ) -> list[str]:
        """Lease the next rows to an annotator: first those already leased to them, then free rows.

        Of the free rows, those in `first` precede the others. If membership of `pending` takes O(1), a call
        takes O(count + leased rows + rows that this annotator skipped), for any number of pending rows.
        """
        with self._lock:
            now = time.monotonic()
            held = {id: lease for id, lease in self._leases.items() if lease.until > now and id in pending}
            mine = (id for id, lease in held.items() if lease.person == person)
            preferred = dict.fromkeys(id for id in first if id in pending and id not in held)
            skipped = self._skipped.get(person, {})
            others = (id for id in pending if id not in held and id not in skipped and id not in preferred)
            last = (id for id in skipped if id in pending and id not in held and id not in preferred)
            taken = list(islice(chain(mine, preferred, others, last), count))
            self._leases = held | {id: Lease(person, now + seconds) for id in taken}
            return taken

    def release(self, person: str, ids: Sequence[str]) -> None:
        """Release rows; this annotator gets them last afterwards."""
        with self._lock:
            for id in ids:
                if id in self._leases and self._leases[id].person == person:
                    del self._leases[id]
                    skipped = self._skipped.setdefault(person, {})
                    skipped.pop(id, None)
                    skipped[id] = None

    def close(self, ids: Sequence[str]) -> None:
        """End the leases of rows that are no longer pending."""
        with self._lock:
            for id in ids:
                self._leases.pop(id, None)
                for skipped in self._skipped.values():
                    skipped.pop(id, None)

    def holders(self) -> dict[str, str]:
        """Return the annotator of each leased row."""
        now = time.monotonic()
        with self._lock:
            return {id: lease.person for id, lease in self._leases.items() if lease.until > now}
