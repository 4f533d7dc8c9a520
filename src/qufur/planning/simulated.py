"""Inputs of a stream with labels drawn from a linear model: what could come, before a label is bought."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from qufur.arrays import Floats
from qufur.models import Model, Ridge
from qufur.run import rows_at_once
from qufur.streams import Chunk, Stream


class Unlabelled(Stream):
    """The inputs of a stream with one label for all: the middle of the range that a model was given, or 0."""

    def __init__(self, stream: Stream, model: Model) -> None:
        self._stream, self._label = stream, sum(model.given_range or (0.0,)) / 2
        self.dim, self.horizon = stream.dim, stream.horizon

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Take the other stream's inputs."""
        for chunk in self._stream.chunks(size):
            yield Chunk(chunk.X, np.full(len(chunk), self._label), None, chunk.domain)


class Drawn(Stream):
    """The inputs of a stream with labels y = ⟨θ, x⟩ + ξ, ξ ~ N(0, σ²), on the scale of a model's label range.

    Parameters
    ----------
    stream
        Its inputs count, its labels do not.
    model
        Its label range gives the units, its intercept the constant.
    theta
        θ, for labels mapped to [−1, 1].
    noise
        σ ≥ 0, in the user's units.
    seed
        Of ξ.

    Examples
    --------
    >>> from qufur.streams import Arrays
    >>> stream = Drawn(Arrays([[1.0], [0.5]], [0.0, 0.0]), Ridge(1, label_range=(0, 10)), np.ones(1), 0.0, 0)
    >>> next(stream.chunks(2)).y
    array([10. , 7.5])
    """

    def __init__(self, stream: Stream, model: Ridge, theta: Floats, noise: float, seed: int) -> None:
        self._stream, self._model, self._theta = stream, model, theta
        self._noise, self._seed = noise, seed
        self.dim, self.horizon = stream.dim, stream.horizon

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Take the other stream's inputs and draw their labels."""
        noise = np.random.default_rng([self._seed, 1])
        middle, half = _centre(self._model)
        for chunk in self._stream.chunks(size):
            truth = middle + half * (with_constant(chunk.X, self._model) @ self._theta)
            yield replace(chunk, y=truth + self._noise * noise.standard_normal(len(chunk)), truth=truth)


def draw_parameters(model: Ridge, stream: Stream, norm: float, seeds: Sequence[int]) -> Floats:
    """Return θ for each seed: in a random direction, of a norm such that labels stay in their range.

    That is `norm`, or what makes max |⟨θ, x_t⟩| = 1 if this is less: the paper assumes |f*| ≤ 1.
    """
    width = stream.dim + model.intercept
    theta = np.array([np.random.default_rng([seed, 2]).standard_normal(width) for seed in seeds])
    theta *= norm / np.linalg.norm(theta, axis=1, keepdims=True)
    largest = np.ones(len(seeds))
    for chunk in stream.chunks(rows_at_once(stream.dim)):
        largest = np.maximum(largest, np.abs(with_constant(chunk.X, model) @ theta.T).max(axis=0))
    return np.asarray(theta / largest[:, None])


def with_constant(X: Floats, model: Ridge) -> Floats:
    """Return inputs with a 1 appended, if there is an intercept: whatever its penalty, it is drawn alike."""
    return np.column_stack([X, np.ones(len(X))]) if model.intercept else X


def fitting_noise(model: Ridge, theta: Floats) -> float:
    """Return the σ at which the model's λ = σ²/τ² is the best choice, with τ² the mean square in θ.

    >>> fitting_noise(Ridge(4), np.full((1, 4), 0.5))
    0.5
    """
    _, half = _centre(model)
    return half * math.sqrt(model.penalty * float(np.mean(theta**2)))


def _centre(model: Ridge) -> tuple[float, float]:
    low, high = model.label_range
    return (low + high) / 2, (high - low) / 2
