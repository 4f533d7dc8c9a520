"""Who labels what at the moment, so that no two people are given the same row."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple


class Lease(NamedTuple):
    """A row that a person has, until a moment of the clock that only goes forward."""

    person: str
    until: float


class Leases:
    """The rows of one stream that people have before them. They are not stored: a restart gives them back.

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
        self._leases: dict[str, Lease] = {}
        # Rows that a person does not want now; they come last for that person.
        self._skipped: dict[str, dict[str, None]] = {}

    def take(
        self, person: str, waiting: Sequence[str], count: int, seconds: float, first: Sequence[str] = ()
    ) -> list[str]:
        """Return the next rows for a person: those that they have, then those that nobody has.

        Of those that nobody has, the ones in `first` come before others.
        """
        now = time.monotonic()
        there = set(waiting)
        self._leases = {id: one for id, one in self._leases.items() if one.until > now and id in there}
        skipped = self._skipped.get(person, {})
        mine = [id for id in waiting if id in self._leases and self._leases[id].person == person]
        free = [id for id in waiting if id not in self._leases]
        free = [id for id in free if id not in skipped] + [id for id in skipped if id in set(free)]
        wanted = [id for id in first if id in free]
        taken = list(dict.fromkeys([*mine, *wanted, *free]))[:count]
        self._leases.update((id, Lease(person, now + seconds)) for id in taken)
        return taken

    def release(self, person: str, ids: Sequence[str]) -> None:
        """Give rows back, which come last for this person from now on."""
        for id in ids:
            if id in self._leases and self._leases[id].person == person:
                del self._leases[id]
                skipped = self._skipped.setdefault(person, {})
                skipped.pop(id, None)
                skipped[id] = None

    def close(self, ids: Sequence[str]) -> None:
        """Let go of rows that no longer wait."""
        for id in ids:
            self._leases.pop(id, None)
            for skipped in self._skipped.values():
                skipped.pop(id, None)

    def holder(self, id: str) -> str | None:
        """Return who has a row."""
        lease = self._leases.get(id)
        return lease.person if lease is not None and lease.until > time.monotonic() else None
