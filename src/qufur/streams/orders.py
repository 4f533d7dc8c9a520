"""In which order hidden domains follow each other: iterators over domain numbers, O(m) memory each."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate, chain, repeat
from typing import Literal

import numpy as np

Order = Literal["sequential", "interleaved", "shuffled"]


def sequential(durations: tuple[int, ...], rng: np.random.Generator) -> Iterator[int]:
    """One domain after the other.

    >>> list(sequential((1, 3), np.random.default_rng(0)))
    [0, 1, 1, 1]
    """
    return chain.from_iterable(repeat(u, T_u) for u, T_u in enumerate(durations))


def interleaved(durations: tuple[int, ...], rng: np.random.Generator) -> Iterator[int]:
    """Every domain spread evenly: its k-th example belongs at (k + 1/2) / T_u, ties go by domain.

    >>> list(interleaved((2, 4), np.random.default_rng(0)))
    [1, 0, 1, 1, 0, 1]
    """

    def places(u: int, T_u: int) -> Iterator[tuple[float, int]]:
        return (((k + 0.5) / T_u, u) for k in range(T_u))

    return (u for _, u in heapq.merge(*(places(u, T_u) for u, T_u in enumerate(durations))))


def shuffled(durations: tuple[int, ...], rng: np.random.Generator) -> Iterator[int]:
    """Tickets drawn from an urn without replacement: the law of a random permutation, without storing one.

    >>> list(shuffled((2, 4), np.random.default_rng(0)))
    [1, 1, 1, 0, 0, 1]
    """
    left = list(durations)
    for tickets in range(sum(left), 0, -1):
        u = bisect_right(list(accumulate(left)), rng.integers(tickets))
        left[u] -= 1
        yield u


ORDERS: dict[Order, Callable[[tuple[int, ...], np.random.Generator], Iterator[int]]] = {
    "sequential": sequential,
    "interleaved": interleaved,
    "shuffled": shuffled,
}
