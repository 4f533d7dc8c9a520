"""Digests of the ids of all processed rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qufur.arrays import Bools
from qufur.ids import Id

Digests = np.ndarray[Any, np.dtype[np.uint64]]
RECENT = 4096
"""Number of recent ids before they are merged into the sorted digests."""


class SeenIds:
    """Ids of processed rows, stored as sorted digests: 8 MB for a million ids of any length.

    Two of n ids have the same digest with probability n²/2⁶⁵, 3·10⁻⁸ for a million.

    Examples
    --------
    >>> ids = SeenIds()
    >>> ids.add(["LH1", 7])
    >>> ids.first_seen(["LH2", 7]), ids.first_seen(["LH2"])
    (7, None)
    """

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        # `_sorted` is a view of the start of `_room`, so new digests are merged without copying all of them.
        self._room = self._sorted = np.sort(_digests(list(ids)))
        # Small additions are collected here, so that each of them does not move a large array.
        self._recent: set[int] = set()
        self._loose: Digests | None = None
        self._looked_up: tuple[Sequence[Id], Digests] = (), self._sorted[:0]

    @classmethod
    def of_digests(cls, digests: Digests, loose: Digests | None = None) -> SeenIds:
        """Return the ids with these digests; `loose` are the digests in no bundle, None without bundles."""
        ids = cls()
        ids._room = ids._sorted = digests
        ids._loose = loose
        return ids

    def digests(self) -> Digests:
        """Return the sorted digests of all ids; the array is valid until more ids are added."""
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
            # unused pages of the new array are not resident
            self._room = np.empty(max(RECENT, 2 * (count + len(new))), dtype=np.uint64)
            self._room[:count] = self._sorted
        self._sorted = self._room[: count + len(new)]
        self._sorted[count:] = new
        self._sorted.sort(kind="stable")  # merges two sorted runs, copying the shorter one

    def unbundled(self) -> Digests:
        """Return the digests that are in no bundle, roughly in order of arrival; all of them the first time.

        A store that does not write all digests with every snapshot moves some into bundles from time to time.
        """
        digests = self.digests()
        if self._loose is None:
            self._loose = digests.copy()
        return self._loose

    def mark_bundled(self, count: int) -> None:
        """Mark the first `count` unbundled digests as bundled."""
        self._loose = self.unbundled()[count:].copy()

    def first_seen(self, ids: Sequence[Id]) -> Id | None:
        """Return the first of these ids that was seen before, O(log n) for each."""
        seen = self.seen(ids)
        return ids[int(seen.argmax())] if seen.any() else None

    def seen(self, ids: Sequence[Id]) -> Bools:
        """Return which of these ids were seen before."""
        digests = _digests(ids)
        self._looked_up = ids, digests
        recent = np.array([digest in self._recent for digest in digests.tolist()], dtype=bool)
        if not len(self._sorted):
            return recent
        merged = self._sorted.take(np.searchsorted(self._sorted, digests), mode="clip") == digests
        return np.asarray(merged | recent)

    def add(self, ids: Sequence[Id]) -> None:
        """Add new ids, O(1) for each; reuses the digests of the last lookup."""
        last_ids, last_digests = self._looked_up
        self._recent.update((last_digests if ids is last_ids else _digests(ids)).tolist())
        if len(self._recent) > RECENT + len(self._sorted) // 64:
            self.digests()


def _digests(ids: Sequence[Id]) -> Digests:
    digests = (
        hashlib.blake2b(str(id).encode("utf-8", "surrogatepass"), digest_size=8).digest() for id in ids
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
