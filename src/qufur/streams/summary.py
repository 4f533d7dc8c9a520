"""Moments of a stream in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats
from qufur.streams.base import Chunk
from qufur.tables.moments import Moments


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
        """Merge the moments of the chunks, O(d) memory.

        >>> import numpy as np
        >>> summary = Summary.of([Chunk(np.array([[1.0], [2.0]]), np.ones(2)), Chunk(np.eye(1), np.zeros(1))])
        >>> summary.count, summary.mean.round(4).item(), summary.std.round(4).item()
        (3, 1.3333, 0.4714)
        """
        moments, low, high = Moments(), np.inf, -np.inf
        for chunk in chunks:
            moments.add(chunk.X)
            low, high = min(low, chunk.y.min()), max(high, chunk.y.max())
        return cls(moments.count, moments.mean, moments.std, float(low), float(high))
