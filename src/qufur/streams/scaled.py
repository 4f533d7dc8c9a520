"""Streams standardised to mean 0 and standard deviation 1, and the moments they are scaled by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from qufur.arrays import Floats
from qufur.moments import Moments
from qufur.streams.base import Chunk, Stream


@dataclass(frozen=True)
class Summary:
    """Moments of a stream that scaling needs.

    Parameters
    ----------
    count
        Number of examples T.
    mean, std
        Mean and population standard deviation (divisor T) of every feature, (d,).
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
        """Merge the moments of chunks in O(d) memory.

        Examples
        --------
        >>> summary = Summary.of([Chunk(np.array([[1.0], [2.0]]), np.ones(2)), Chunk(np.eye(1), np.zeros(1))])
        >>> summary.count, summary.mean.round(4).item(), summary.std.round(4).item()
        (3, 1.3333, 0.4714)
        """
        moments, low, high = Moments(), np.inf, -np.inf
        for chunk in chunks:
            moments.add(chunk.X)
            low, high = min(low, chunk.y.min()), max(high, chunk.y.max())
        return cls(moments.count, moments.mean, moments.std, float(low), float(high))


class Scaled(Stream):
    """Stream with standardised inputs, x ← (x − mean) / deviation; constant features become 0.

    Parameters
    ----------
    stream
        Stream to scale.
    summary
        The moments to scale by, of this stream or of an earlier one.

    Examples
    --------
    >>> from qufur.streams import Arrays
    >>> stream = Arrays([[1.0, 7.0], [3.0, 7.0]], [0.0, 1.0])
    >>> next(Scaled(stream, Summary.of(stream.chunks(10))).chunks(10)).X
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    def __init__(self, stream: Stream, summary: Summary) -> None:
        self._stream = stream
        self._mean = summary.mean
        self._std = np.where(summary.std > 0, summary.std, 1.0)
        self.dim, self.horizon = stream.dim, summary.count

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield the scaled chunks of the stream."""
        for chunk in self._stream.chunks(size):
            yield replace(chunk, X=(chunk.X - self._mean) / self._std)
