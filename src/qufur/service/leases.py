"""Who labels what at the moment, so that no two people are given the same row."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Sequence
from itertools import chain, islice
from typing import NamedTuple


class Lease(NamedTuple):
    """A row that a person has, until a moment of the clock that only goes forward."""

    person: str
    until: float


class Leases:
    """The rows of one stream that people have before them. They are not stored: a restart gives them back.

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
        # Rows that a person does not want now; they come last for that person.
        self._skipped: dict[str, dict[str, None]] = {}

    def take(
        self, person: str, waiting: Collection[str], count: int, seconds: float, first: Sequence[str] = ()
    ) -> list[str]:
        """Return the next rows for a person: those that they have, then those that nobody has.

        Of the free rows, the ones in `first` come before others. If membership of `waiting` takes
        O(1), a call takes O(count + leased rows + rows that this person skipped), however many rows wait.
        """
        with self._lock:
            now = time.monotonic()
            held = {id: one for id, one in self._leases.items() if one.until > now and id in waiting}
            mine = (id for id, one in held.items() if one.person == person)
            wanted = dict.fromkeys(id for id in first if id in waiting and id not in held)
            skipped = self._skipped.get(person, {})
            others = (id for id in waiting if id not in held and id not in skipped and id not in wanted)
            last = (id for id in skipped if id in waiting and id not in held and id not in wanted)
            taken = list(islice(chain(mine, wanted, others, last), count))
            self._leases = held | {id: Lease(person, now + seconds) for id in taken}
            return taken

    def release(self, person: str, ids: Sequence[str]) -> None:
        """Give rows back, which come last for this person after that."""
        with self._lock:
            for id in ids:
                if id in self._leases and self._leases[id].person == person:
                    del self._leases[id]
                    skipped = self._skipped.setdefault(person, {})
                    skipped.pop(id, None)
                    skipped[id] = None

    def close(self, ids: Sequence[str]) -> None:
        """Let go of rows that no longer wait."""
        with self._lock:
            for id in ids:
                self._leases.pop(id, None)
                for skipped in self._skipped.values():
                    skipped.pop(id, None)

    def holders(self) -> dict[str, str]:
        """Return who has which row."""
        now = time.monotonic()
        with self._lock:
            return {id: lease.person for id, lease in self._leases.items() if lease.until > now}
