"""What examples are called: numbers by default, or what the user says."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from qufur.arrays import Bools, is_whole
from qufur.errors import invalid
from qufur.models.base import Id

Digests = np.ndarray[Any, np.dtype[np.uint64]]
LARGEST_NUMBER = 10**1000
"""Python refuses to read numbers back that are a few times as long."""


def as_ids(ids: Sequence[Any] | None, count: int, next_id: int, taken: Collection[Id]) -> Sequence[Id]:
    """Return a name for each of some examples, checked; numbers from the next one on if none are given."""
    if ids is None:
        return range(next_id, next_id + count)
    ids = [int(id) if isinstance(id, np.integer) else id for id in ids]
    if len(ids) != count:
        raise invalid("ids", "Learner", f"{count} ids, one per input", len(ids))
    _check_kinds(ids)
    _check_distinct(ids)
    again = [id for id in ids if id in taken]
    if again:
        raise invalid("id", "Learner", "new while its label is outstanding", repr(again[0]))
    return ids


def check_outstanding(ids: Sequence[Any], outstanding: Collection[Id]) -> None:
    """Refuse ids of which one is not outstanding, or there twice."""
    if len(ids) == 1 and type(ids[0]) in (int, str) and ids[0] in outstanding:
        return  # by far the most usual
    odd = [id for id in ids if not _is_id(id) or id not in outstanding]
    if odd:
        few = ", ".join(map(repr, list(outstanding)[:5])) or "none"
        raise invalid("id", "Learner", "outstanding", repr(odd[0]), f"Outstanding: {few}.")
    _check_distinct(ids)


def beyond(ids: Sequence[Id], next_id: int) -> int:
    """Return the first number above all ids so far: numbers given out by default must never be taken.

    >>> beyond(["a", 7], 3), beyond(range(3), 5)
    (8, 5)
    """
    if isinstance(ids, range):
        return max(next_id, ids.stop)
    return max([next_id, *(id + 1 for id in ids if isinstance(id, int))])


class KnownIds:
    """The ids of rows asked about, as sorted digests: 8 MB for a million, whatever they look like.

    Two of n ids have the same digest with probability n²/2⁶⁵, 3·10⁻⁸ for a million.

    Examples
    --------
    >>> known = KnownIds()
    >>> known.add(["LH1", 7])
    >>> known.first_known(["LH2", 7]), known.first_known(["LH2"])
    (7, None)
    """

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self.digests = np.sort(_digests(list(ids)))
        self._looked_up: tuple[Sequence[Id], Digests] = (), self.digests[:0]

    @classmethod
    def of_digests(cls, digests: Digests) -> KnownIds:
        """Return what had these digests."""
        known = cls()
        known.digests = digests
        return known

    def first_known(self, ids: Sequence[Id]) -> Id | None:
        """Return the first of these ids that was asked about, O(log n) for each."""
        known = self.known(ids)
        return ids[int(known.argmax())] if known.any() else None

    def known(self, ids: Sequence[Id]) -> Bools:
        """Return which of these ids were asked about."""
        found = _digests(ids)
        self._looked_up = ids, found
        if not len(self.digests):
            return np.zeros(len(ids), dtype=bool)
        return np.asarray(self.digests.take(np.searchsorted(self.digests, found), mode="clip") == found)

    def add(self, ids: Sequence[Id]) -> None:
        """Take in ids that are new, O(n); those that were looked up last are not digested again."""
        ids_before, found = self._looked_up
        new = np.sort(found if ids is ids_before else _digests(ids))
        self.digests = np.insert(self.digests, np.searchsorted(self.digests, new), new)


def _is_id(id: object) -> bool:
    return isinstance(id, str) or is_whole(id)


def _check_kinds(ids: Sequence[Any]) -> None:
    kinds = set(map(type, ids))
    if kinds <= {str} or (kinds == {int} and -LARGEST_NUMBER < min(ids) <= max(ids) < LARGEST_NUMBER):
        return  # the usual cases, at little cost
    for id in ids:
        if not _is_id(id):
            raise invalid("id", "Learner", "an int or a str", repr(id))
        if isinstance(id, int) and abs(id) >= LARGEST_NUMBER:
            allowed = "a number of at most 1000 digits"
            raise invalid("id", "Learner", allowed, f"one of {id.bit_length()} bits")


def _check_distinct(ids: Sequence[Id]) -> None:
    if len(set(ids)) == len(ids):
        return
    twice = next(id for id, times in Counter(ids).items() if times > 1)
    raise invalid("ids", "Learner", "distinct", f"{twice!r} more than once")


def _digests(ids: Sequence[Id]) -> Digests:
    digests = (
        hashlib.blake2b(str(id).encode("utf-8", "surrogatepass"), digest_size=8).digest() for id in ids
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
