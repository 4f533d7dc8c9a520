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
RECENT = 4096
"""How many ids are taken in before they are sorted among the others."""


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
        # The digests are at the start of what may have room for more: sorting new ones in takes no copy.
        self._room = self._sorted = np.sort(_digests(list(ids)))
        # Few at a time are taken in here, so that no large array is moved for each of them.
        self._recent: set[int] = set()
        self._loose: Digests | None = None
        self._looked_up: tuple[Sequence[Id], Digests] = (), self._sorted[:0]

    @classmethod
    def of_digests(cls, digests: Digests, loose: Digests | None = None) -> KnownIds:
        """Return what had these digests; `loose` are those of them in no bundle, if there are bundles."""
        known = cls()
        known._room = known._sorted = digests
        known._loose = loose
        return known

    def digests(self) -> Digests:
        """Return the digests of all ids, sorted; they are to be used before further ids are added."""
        if self._recent:
            new = np.sort(np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent)))
            self._sort_in(new)
            if self._loose is not None:
                self._loose = np.append(self._loose, new)
            self._recent = set()
        return self._sorted

    def _sort_in(self, new: Digests) -> None:
        count = len(self._sorted)
        if count + len(new) > len(self._room):
            # What is not in use is not resident.
            self._room = np.empty(max(RECENT, 2 * (count + len(new))), dtype=np.uint64)
            self._room[:count] = self._sorted
        self._sorted = self._room[: count + len(new)]
        self._sorted[count:] = new
        self._sorted.sort(kind="stable")  # which merges two sorted runs, with a copy of the shorter one

    def loose(self) -> Digests:
        """Return the digests that are in no bundle, about as they came: all of them the first time.

        Whoever keeps them elsewhere, and would not write all of them each time, ties some up now and then.
        """
        digests = self.digests()
        if self._loose is None:
            self._loose = digests.copy()
        return self._loose

    def tie_up(self, count: int) -> None:
        """Let the first loose digests be in a bundle."""
        self._loose = self.loose()[count:].copy()

    def first_known(self, ids: Sequence[Id]) -> Id | None:
        """Return the first of these ids that was asked about, O(log n) for each."""
        known = self.known(ids)
        return ids[int(known.argmax())] if known.any() else None

    def known(self, ids: Sequence[Id]) -> Bools:
        """Return which of these ids were asked about."""
        found = _digests(ids)
        self._looked_up = ids, found
        if not self._recent:
            recent = np.zeros(len(ids), dtype=bool)
        else:
            recent = np.array([digest in self._recent for digest in found.tolist()], dtype=bool)
        if not len(self._sorted):
            return recent
        there = self._sorted.take(np.searchsorted(self._sorted, found), mode="clip") == found
        return np.asarray(there | recent)

    def add(self, ids: Sequence[Id]) -> None:
        """Take in ids that are new, O(1) for each; those that were looked up last are not digested again."""
        ids_before, found = self._looked_up
        self._recent.update((found if ids is ids_before else _digests(ids)).tolist())
        if len(self._recent) > RECENT + len(self._sorted) // 64:
            self.digests()


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
