"""Moments of a stream in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats
from qufur.streams.base import Chunk


@dataclass(frozen=True)
class Summary:
    """What scaling needs to know of a stream.

    Parameters
    ----------
    count
        Number of examples T.
    mean, std
        Of every feature, (d,); the deviation is that of a population (divisor T).
    target_min, target_max
        The range of the labels.
    """

    count: int
    mean: Floats
    std: Floats
    target_min: float
    target_max: float

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> Summary:
        """Merge the moments of the chunks by Chan's formula, O(d) memory.

        The first row is subtracted from all: a column that is constant then has deviation exactly 0, and
        a small spread around a large value keeps its digits.

        >>> import numpy as np
        >>> summary = Summary.of([Chunk(np.array([[1.0], [2.0]]), np.ones(2)), Chunk(np.eye(1), np.zeros(1))])
        >>> summary.count, summary.mean.round(4).item(), summary.std.round(4).item()
        (3, 1.3333, 0.4714)
        """
        count, low, high = 0, np.inf, -np.inf
        for chunk in chunks:
            if not count:
                origin = chunk.X[0].copy()
                mean, squares = np.zeros_like(origin), np.zeros_like(origin)
            X = chunk.X - origin
            step = X.mean(axis=0) - mean
            share = len(X) / (count + len(X))
            squares += ((X - X.mean(axis=0)) ** 2).sum(axis=0) + step**2 * count * share
            mean += step * share
            count += len(X)
            low, high = min(low, chunk.y.min()), max(high, chunk.y.max())
        return cls(count, origin + mean, np.sqrt(squares / count), float(low), float(high))
