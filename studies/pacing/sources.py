"""Inputs of the pacing streams: domains in any order, spectra, and repeated inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.streams import Arrays
from qufur.streams.synthetic import Blocks, unit_vectors

NOISE = 0.1


class Visits(Arrays):
    """Domains in orthogonal blocks of coordinates, visited in a given order.

    Parameters
    ----------
    visited
        The domain of each example.
    dims
        d_u, one per domain.
    rng
        Draws θ*, inputs and noise, as `HiddenDomains` does.
    """

    def __init__(self, visited: Ints, dims: Sequence[int], rng: np.random.Generator) -> None:
        blocks = Blocks(tuple(dims))
        Z = unit_vectors(blocks.coordinates[visited], rng)
        X, y, truth = realizable(blocks.embed(Z, visited), rng)
        super().__init__(X, y, truth=truth, domain=visited)
        self.dims, self.durations = tuple(dims), tuple(np.bincount(visited, minlength=len(dims)).tolist())


def realizable(X: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return the inputs with noisy labels and their truth, θ* uniform on the unit sphere."""
    theta = unit_vectors(np.ones((1, X.shape[1]), dtype=bool), rng)[0]
    truth = X @ theta
    return X, truth + NOISE * rng.standard_normal(len(X)), truth


def without_domains(X: Floats, rng: np.random.Generator) -> Arrays:
    """Return a stream of these inputs, with realizable labels and without domains."""
    X, y, truth = realizable(X, rng)
    return Arrays(X, y, truth=truth)


def arrivals(horizon: int, count: int, dim: int, seed: int) -> Visits:
    """Add domains at random times; the other examples come from a random existing domain.

    The first domain begins at time 0; the times of the others are uniform, as in a Poisson process.
    """
    rng = np.random.default_rng([seed, 11])
    times = np.append(0, np.sort(rng.choice(np.arange(1, horizon), count - 1, replace=False)))
    visited = rng.integers(np.searchsorted(times, np.arange(horizon), side="right"))
    visited[times] = np.arange(count)
    return Visits(visited, [dim] * count, rng)


def recurring(duration: int, rounds: int, dims: Sequence[int], seed: int) -> Visits:
    """Cycle through all domains `rounds` times, with `duration` examples of each."""
    turn = np.repeat(np.arange(len(dims)), duration)
    return Visits(np.tile(turn, rounds), dims, np.random.default_rng([seed, 12]))


def random_lengths(horizon: int, count: int, largest: int, seed: int) -> Visits:
    """Split the stream at random positions into domains of random dimension."""
    rng = np.random.default_rng([seed, 13])
    cuts = rng.choice(np.arange(1, horizon), count - 1, replace=False)
    visited = np.searchsorted(np.sort(cuts), np.arange(horizon), side="right")
    return Visits(visited, rng.integers(1, largest + 1, count).tolist(), rng)


def power_law(horizon: int, dim: int, decay: float, seed: int) -> Arrays:
    """Draw x ∝ diag(k^−decay) z of norm 1, with Gaussian z: every direction occurs."""
    rng = np.random.default_rng([seed, 14])
    X = rng.standard_normal((horizon, dim)) * np.arange(1.0, dim + 1) ** -decay
    return without_domains(X / np.linalg.norm(X, axis=1, keepdims=True), rng)


def duplicates(horizon: int, distinct: int, dim: int, seed: int) -> Arrays:
    """Draw from a fixed set of inputs, the k-th with probability ∝ 1/k."""
    rng = np.random.default_rng([seed, 15])
    pool = unit_vectors(np.ones((distinct, dim), dtype=bool), rng)
    weight = 1 / np.arange(1.0, distinct + 1)
    return without_domains(pool[rng.choice(distinct, horizon, p=weight / weight.sum())], rng)
