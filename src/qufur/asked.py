"""Which ids were asked about, in eight bytes each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qufur.models.base import Id

Digests = np.ndarray[Any, np.dtype[np.uint64]]


class Asked:
    """The ids of rows asked about, as sorted digests: 8 MB for a million, whatever they look like.

    Two of n ids have the same digest with probability n²/2⁶⁵, 3·10⁻⁸ for a million.

    Examples
    --------
    >>> asked = Asked()
    >>> asked.add(["LH1", 7])
    >>> asked.first_known(["LH2", 7]), asked.first_known(["LH2"])
    (7, None)
    """

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self.digests = np.sort(_digests(list(ids)))

    @classmethod
    def of_digests(cls, digests: Digests) -> Asked:
        """Return what had these digests."""
        asked = cls()
        asked.digests = digests
        return asked

    def first_known(self, ids: Sequence[Id]) -> Id | None:
        """Return the first of these ids that was asked about, O(log n) for each."""
        found = _digests(ids)
        places = np.searchsorted(self.digests, found)
        known = np.append(self.digests, np.uint64(0))[places] == found
        known &= places < len(self.digests)
        return ids[int(known.argmax())] if known.any() else None

    def add(self, ids: Sequence[Id]) -> None:
        """Take in ids that are new, O(n)."""
        new = np.sort(_digests(ids))
        self.digests = np.insert(self.digests, np.searchsorted(self.digests, new), new)


def _digests(ids: Sequence[Id]) -> Digests:
    digests = (
        hashlib.blake2b(str(id).encode("utf-8", "surrogatepass"), digest_size=8).digest() for id in ids
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
