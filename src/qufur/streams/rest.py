"""A stream without its first examples."""

from __future__ import annotations

from collections.abc import Iterator

from qufur.streams.base import Chunk, Stream


class Rest(Stream):
    """The examples of another stream but for the first of them, which are at hand in `first`.

    Parameters
    ----------
    stream
        Whose examples are taken.
    count
        How many are left out.

    Examples
    --------
    >>> from qufur.streams import Arrays
    >>> rest = Rest(Arrays([[1.0], [2.0], [3.0]], [0.0, 0.1, 0.2]), 1)
    >>> rest.first.y.tolist(), [chunk.y.tolist() for chunk in rest.chunks(2)]
    ([0.0], [[0.1], [0.2]])
    """

    def __init__(self, stream: Stream, count: int) -> None:
        self.stream, self.count = stream, count
        self.dim, self.horizon = stream.dim, stream.horizon - count
        self.first = next(iter(stream.chunks(count)))

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield the examples in order, at most `size` at a time."""
        left = self.count
        for chunk in self.stream.chunks(size):
            if left < len(chunk):
                yield _from(chunk, left)
            left = max(0, left - len(chunk))


def _from(chunk: Chunk, start: int) -> Chunk:
    truth = None if chunk.truth is None else chunk.truth[start:]
    domain = None if chunk.domain is None else chunk.domain[start:]
    return Chunk(chunk.X[start:], chunk.y[start:], truth, domain)
