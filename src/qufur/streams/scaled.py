"""A stream with features of mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from qufur.streams.base import Chunk, Stream
from qufur.streams.summary import Summary


class Scaled(Stream):
    """The examples of another stream with x ← (x − mean) / deviation; constant features become 0.

    Parameters
    ----------
    stream
        Whose examples are taken.
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
        """Scale the other stream's chunks."""
        for chunk in self._stream.chunks(size):
            yield replace(chunk, X=(chunk.X - self._mean) / self._std)
