"""Hidden domains in low-dimensional subspaces: the synthetic experiment of the paper.

Inputs are directions on unit spheres, embedded in subspaces of R^d. They must not depend on the chunk size,
to the last bit. Matrix products would depend on it, because BLAS rounds a row differently with other rows
beside it. Elementwise operations and sums along a row do not.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice, repeat
from typing import Any, Literal

import numpy as np

from qufur.arrays import Bools, Floats, Ints, as_count, as_domains, as_noise
from qufur.errors import invalid
from qufur.streams.base import Chunk, Stream, independent_seeds

BLOCK_ROWS = 32
"""Rows per block: few enough that their sums stay in the cache while axes are added."""


def unit_vectors(coordinates: Bools, rng: np.random.Generator) -> Floats:
    """Draw a uniform unit vector per row in its marked coordinates; the others are zero.

    >>> unit_vectors(np.array([[True, False], [True, True]]), np.random.default_rng(0)).round(2)
    array([[ 1. ,  0. ],
           [-0.2 ,  0.98]])
    """
    Z = np.zeros(coordinates.shape)
    Z[coordinates] = rng.standard_normal(np.count_nonzero(coordinates))
    Z /= np.sqrt((Z * Z).sum(axis=1, keepdims=True))
    return Z


class Subspaces(ABC):
    """One subspace x = V_u z of R^dim per domain; z is padded with zeros to the largest d_u.

    Parameters
    ----------
    dims
        d_u, one per domain.
    dim
        d, the dimension of the inputs.
    """

    def __init__(self, dims: tuple[int, ...], dim: int) -> None:
        self.dim = dim
        self.coordinates: Bools = np.arange(max(dims)) < np.array(dims)[:, None]

    @abstractmethod
    def embed(self, Z: Floats, domain: Ints) -> Floats:
        """Return V_u z for each row."""

    @abstractmethod
    def coefficients(self, theta: Floats) -> Floats:
        """Return V_uᵀ θ for each domain; ⟨θ, x⟩ is then a sum over the few entries of z."""


class Blocks(Subspaces):
    """Orthogonal blocks of adjacent coordinates."""

    def __init__(self, dims: tuple[int, ...]) -> None:
        super().__init__(dims, sum(dims))
        self._first = np.cumsum(dims) - dims

    def embed(self, Z: Floats, domain: Ints) -> Floats:
        """Write each z into the block of its domain."""
        rows, k = np.nonzero(self.coordinates[domain])
        X = np.zeros((len(Z), self.dim))
        X[rows, self._first[domain[rows]] + k] = Z[rows, k]
        return X

    def coefficients(self, theta: Floats) -> Floats:
        """Split θ into blocks."""
        blocks = np.zeros(self.coordinates.shape)
        blocks[self.coordinates] = theta
        return blocks


class Spans(Subspaces):
    """Random subspaces, independent and hence overlapping: V_u is the Q factor of a Gaussian matrix."""

    def __init__(self, dims: tuple[int, ...], dim: int, rng: np.random.Generator) -> None:
        super().__init__(dims, dim)
        self._axes = np.zeros((max(dims), len(dims), dim))
        for u, d_u in enumerate(dims):
            self._axes[:d_u, u] = np.linalg.qr(rng.standard_normal((dim, d_u))).Q.T

    def embed(self, Z: Floats, domain: Ints) -> Floats:
        """Sum the axes of each row's subspace, weighted by z."""
        X = np.zeros((len(Z), self.dim))
        for u, d_u in enumerate(self.coordinates.sum(axis=1)):
            domain_rows = np.flatnonzero(domain == u)
            for rows in np.split(domain_rows, range(BLOCK_ROWS, len(domain_rows), BLOCK_ROWS)):
                part = np.zeros((len(rows), self.dim))
                for z, axis in zip(Z[rows, :d_u].T, self._axes[:, u], strict=False):
                    part += z[:, None] * axis
                X[rows] = part
        return X

    def coefficients(self, theta: Floats) -> Floats:
        """Project θ on every axis."""
        coefficients: Floats = self._axes @ theta
        return coefficients.T


Order = Literal["sequential", "interleaved", "shuffled"]


def sequential(durations: tuple[int, ...], rng: np.random.Generator) -> Iterator[int]:
    """Yield one domain after the other.

    >>> list(sequential((1, 3), np.random.default_rng(0)))
    [0, 1, 1, 1]
    """
    return chain.from_iterable(repeat(u, T_u) for u, T_u in enumerate(durations))


def interleaved(durations: tuple[int, ...], rng: np.random.Generator) -> Iterator[int]:
    """Spread every domain evenly: its k-th example is at (k + 1/2) / T_u; ties are ordered by domain.

    >>> list(interleaved((2, 4), np.random.default_rng(0)))
    [1, 0, 1, 1, 0, 1]
    """

    def positions(u: int, T_u: int) -> Iterator[tuple[float, int]]:
        return (((k + 0.5) / T_u, u) for k in range(T_u))

    return (u for _, u in heapq.merge(*(positions(u, T_u) for u, T_u in enumerate(durations))))


def shuffled(durations: tuple[int, ...], rng: np.random.Generator) -> Iterator[int]:
    """Draw domains without replacement: distributed as a random permutation, without storing one.

    >>> list(shuffled((2, 4), np.random.default_rng(0)))
    [1, 1, 1, 0, 0, 1]
    """
    remaining = list(durations)
    for total in range(sum(remaining), 0, -1):
        u = bisect_right(list(accumulate(remaining)), rng.integers(total))
        remaining[u] -= 1
        yield u


ORDERS: dict[Order, Callable[[tuple[int, ...], np.random.Generator], Iterator[int]]] = {
    "sequential": sequential,
    "interleaved": interleaved,
    "shuffled": shuffled,
}


class HiddenDomains(Stream):
    """Domains that change without notice, each in its own subspace (Section "Experiments").

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
        Seed of all draws, an integer of at least 0.
    ambient
        None: the subspaces are orthogonal blocks of coordinates and d = Σ d_u. Rotations are not offered,
        because ridge regression with λI is invariant to them. An integer, at least max d_u: random
        subspaces of R^ambient, drawn independently and hence overlapping.

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
        """Draw the setting of the authors' scripts: 20 domains, (T_u, d_u) is (50, 6) or (100, 3).

        The published figure uses it; the text of the paper prints other pairs: see `text`.
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

        The blocks are orthogonal, so the inputs have d + 1 columns.
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
