"""Hidden domains in low-dimensional subspaces: the synthetic experiment of the paper."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice, repeat
from typing import Any, Literal

import numpy as np

from qufur.arrays import as_count, as_domains, as_noise
from qufur.errors import invalid
from qufur.streams.base import Chunk, Stream, independent_seeds
from qufur.streams.subspaces import Blocks, Spans, Subspaces, unit_vectors

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


class HiddenDomains(Stream):
    """Domains that shift without notice, each in a subspace of its own (Section "Experiments").

    An example of domain u is x = V_u z with z uniform on the unit sphere of R^{d_u}; its label is
    y = ⟨θ*, x⟩ + ξ with θ* uniform on the unit sphere of R^d and ξ ~ N(0, noise²).

    Parameters
    ----------
    durations, dims
        T_u and d_u, one positive integer per domain.
    noise
        Standard deviation of ξ, at least 0.
    order
        "sequential": one domain after the other. "interleaved": every domain spread evenly over the stream.
        "shuffled": a random arrangement.
    seed
        Decides everything, an integer of at least 0.
    ambient
        None: the subspaces are orthogonal blocks of coordinates and d = Σ d_u. No rotation of them is
        offered: ridge regression with λI cannot tell a rotated stream from the original. An integer: random
        subspaces of R^ambient, drawn independently and hence overlapping; at least max d_u.

    Notes
    -----
    An example costs O(d), or O(d · max d_u) in random subspaces; memory does not grow with T.

    Examples
    --------
    >>> stream = HiddenDomains([4, 2], [3, 1], order="interleaved")
    >>> chunk = next(stream.chunks(6))
    >>> chunk.domain.tolist(), (chunk.X != 0).sum(axis=1).tolist()
    ([0, 1, 0, 0, 1, 0], [3, 1, 3, 3, 1, 3])
    """

    horizon: int

    def __init__(
        self,
        durations: Sequence[int],
        dims: Sequence[int],
        *,
        noise: float = 0.1,
        order: Order = "sequential",
        seed: int = 0,
        ambient: int | None = None,
    ) -> None:
        self.durations, self.dims = as_domains(durations, dims, "HiddenDomains")
        self.noise = as_noise(noise, "HiddenDomains")
        if order not in ORDERS:
            raise invalid("order", "HiddenDomains", f"one of {', '.join(ORDERS)}", repr(order))
        self.order, self.horizon = order, sum(self.durations)
        self.dim = sum(self.dims) if ambient is None else as_count(ambient, "ambient", "HiddenDomains")
        if max(self.dims) > self.dim:
            raise invalid("ambient", "HiddenDomains", f"at least max d_u = {max(self.dims)}", ambient)
        theta, spans, *self._seeds = independent_seeds(seed, 5, "HiddenDomains")
        self.theta = unit_vectors(np.ones((1, self.dim), dtype=bool), np.random.default_rng(theta))[0]
        self._subspaces: Subspaces = (
            Blocks(self.dims) if ambient is None else Spans(self.dims, self.dim, np.random.default_rng(spans))
        )

    @classmethod
    def scripts(cls, seed: int = 0, **options: Any) -> HiddenDomains:
        """Draw the setting of the authors' scripts: 20 times (T_u, d_u) = (50, 6) or (100, 3) by a coin.

        It stands behind the published figure; the text of the paper prints other pairs: see `text`.
        """
        k = np.random.default_rng(seed).integers(1, 3, size=20)
        return cls(list(50 * k), list(3 * (3 - k)), seed=seed, **options)

    @classmethod
    def text(cls, seed: int = 0, **options: Any) -> HiddenDomains:
        """Draw the setting as printed: (T_u, d_u) = (100, 6) or (50, 3) and noise of *variance* 0.1."""
        k = np.random.default_rng(seed).integers(1, 3, size=20)
        return cls(list(50 * k), list(3 * k), seed=seed, **{"noise": math.sqrt(0.1), **options})

    @classmethod
    def introduction(cls, dim: int, horizon: int, *, seed: int = 0) -> HiddenDomains:
        """Return the introduction's example: d_1 = T_1 = d, then d_2 = 1 for the other T − d examples.

        Its blocks are orthogonal, so that inputs have d + 1 columns.
        """
        dim = as_count(dim, "dim", "HiddenDomains.introduction")
        if as_count(horizon, "horizon", "HiddenDomains.introduction") <= dim:
            raise invalid("horizon", "HiddenDomains.introduction", f"above dim = {dim}", horizon)
        return cls([dim, horizon - dim], [dim, 1], seed=seed)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Draw `size` examples at a time."""
        size = as_count(size, "size", "HiddenDomains.chunks")
        shuffle, inputs, noise = (np.random.default_rng(seed) for seed in self._seeds)
        order = ORDERS[self.order](self.durations, shuffle)
        coefficients = self._subspaces.coefficients(self.theta)
        while len(domain := np.fromiter(islice(order, size), dtype=np.int64)):
            Z = unit_vectors(self._subspaces.coordinates[domain], inputs)
            truth = (Z * coefficients[domain]).sum(axis=1)
            y = truth + self.noise * noise.standard_normal(len(domain))
            yield Chunk(self._subspaces.embed(Z, domain), y, truth, domain)
