"""Adversarial streams: the oblivious one of the lower bound, and an adaptive one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from qufur.arrays import as_count, as_domains, as_noise
from qufur.errors import invalid
from qufur.streams.base import Chunk, Stream, independent_seeds
from qufur.streams.synthetic import unit_vectors


class LowerBound(Stream):
    """Oblivious adversary behind the lower bound Ω((Σ √(d_u T_u))² / B) (proof of Theorem "lower").

    Domain u shows d_u basis vectors in turn, each ⌊T_u / d_u⌋ times; the last one fills the rest of T_u.
    Every coordinate of θ* is uniform on [0, 1], and labels are binary: y_t ~ Bernoulli(θ*_{u,i}).

    Parameters
    ----------
    durations, dims
        T_u and d_u with 1 ≤ d_u ≤ T_u, one of each per domain.
    seed
        Seed of θ* and of the labels, an integer of at least 0.

    Examples
    --------
    >>> chunk = next(LowerBound([5, 1], [2, 1]).chunks(6))
    >>> chunk.X.argmax(axis=1).tolist(), chunk.y.tolist()
    ([0, 0, 1, 1, 1, 2], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    """

    def __init__(self, durations: Sequence[int], dims: Sequence[int], *, seed: int = 0) -> None:
        self.durations, self.dims = as_domains(durations, dims, "LowerBound")
        for T_u, d_u in zip(self.durations, self.dims, strict=True):
            if d_u > T_u:
                allowed = "at most the duration of their domain"
                raise invalid("dims", "LowerBound", allowed, f"d_u = {d_u} with T_u = {T_u}")
        self.horizon, self.dim = sum(self.durations), sum(self.dims)
        theta, self._label_seed = independent_seeds(seed, 2, "LowerBound")
        self.theta = np.random.default_rng(theta).random(self.dim)

    @property
    def subblocks(self) -> list[int]:
        """Number of times that each basis vector is shown, |I_{u,i}|."""
        T, d = np.array(self.durations), np.array(self.dims)
        lengths = np.repeat(T // d, d)
        lengths[np.cumsum(d) - 1] += T % d
        return [int(length) for length in lengths]

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield `size` basis vectors at a time."""
        size = as_count(size, "size", "LowerBound.chunks")
        rng = np.random.default_rng(self._label_seed)
        domains = np.repeat(np.arange(len(self.dims)), self.dims)
        basis = chain.from_iterable(repeat(j, length) for j, length in enumerate(self.subblocks))
        while len(columns := np.fromiter(islice(basis, size), dtype=np.int64)):
            X = np.zeros((len(columns), self.dim))
            X[np.arange(len(columns)), columns] = 1.0
            y = (rng.random(len(columns)) < self.theta[columns]).astype(np.float64)
            yield Chunk(X, y, self.theta[columns], domains[columns])


class MostUncertain(Stream):
    """Adaptive adversary that shows the input of largest uncertainty.

    For each example it draws `pool` random unit vectors and shows the one with the largest current Δ of the
    learner. Labels are y = ⟨θ*, x⟩ + ξ, with θ* uniform on the unit sphere. The stream needs its opponent,
    `MostUncertain(...).against(learner)`; `run` sets it.

    Parameters
    ----------
    dim, horizon
        d and T, at least 1.
    noise
        Standard deviation of the Gaussian ξ, at least 0.
    pool
        Candidates per example, at least 1; with 1 the stream is not adaptive.
    seed
        Seed of θ*, the candidates and the noise, an integer of at least 0.

    Examples
    --------
    >>> class Westward:
    ...     def uncertainty(self, X):
    ...         return -X[:, 0]
    >>> stream = MostUncertain(2, 3).against(Westward())
    >>> [chunk.X.round(3).tolist() for chunk in stream.chunks(100)]
    [[[-0.997, 0.075]], [[-1.0, -0.03]], [[-1.0, 0.024]]]
    """

    _learner: Any = None

    def __init__(self, dim: int, horizon: int, *, noise: float = 0.1, pool: int = 64, seed: int = 0) -> None:
        self.dim = as_count(dim, "dim", "MostUncertain")
        self.horizon = as_count(horizon, "horizon", "MostUncertain")
        self.noise = as_noise(noise, "MostUncertain")
        self.pool = as_count(pool, "pool", "MostUncertain")
        theta, *self._seeds = independent_seeds(seed, 3, "MostUncertain")
        self.theta = unit_vectors(np.ones((1, self.dim), dtype=bool), np.random.default_rng(theta))[0]

    def against(self, learner: Any) -> MostUncertain:
        """Return the stream that plays against this learner; it only calls `learner.uncertainty(X)`."""
        opposed = copy.copy(self)
        opposed._learner = learner
        return opposed

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield one example per chunk for any `size`: the next depends on the learner's update."""
        as_count(size, "size", "MostUncertain.chunks")
        if self._learner is None:
            raise ValueError(
                "MostUncertain has no learner to watch. Pass it to run, or call .against(learner) first."
            )
        return self._adaptive_chunks()

    def _adaptive_chunks(self) -> Iterator[Chunk]:
        inputs, noise = (np.random.default_rng(seed) for seed in self._seeds)
        all_coordinates = np.ones((self.pool, self.dim), dtype=bool)
        for _ in range(self.horizon):
            candidates = unit_vectors(all_coordinates, inputs)
            X = candidates[[np.argmax(self._learner.uncertainty(candidates))]]
            truth = X @ self.theta
            yield Chunk(X, truth + self.noise * noise.standard_normal(1), truth)
