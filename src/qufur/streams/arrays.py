"""Streams of examples in memory, and a stream without its first examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur._internal.tensors import is_tensor
from qufur.arrays import Ints, as_count, as_inputs, as_labels
from qufur.errors import invalid
from qufur.streams.base import Chunk, Stream


class Arrays(Stream):
    """Rows of a matrix as a stream, in order.

    Chunks are views; float64 arrays in C order are not copied at all.

    Parameters
    ----------
    X, y
        Inputs (T, d) and labels (T,), finite, T at least 1. A torch tensor stays on its device and a
        `numpy.memmap` in its file; their inputs are checked while the stream is played.
    truth
        f*(x_t) for each row, if available: regret is measured against it.
    domain
        Domain number of each row, if available.

    Examples
    --------
    >>> stream = Arrays([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], [0.5, -0.5, 0.1])
    >>> [chunk.y.tolist() for chunk in stream.chunks(2)]
    [[0.5, -0.5], [0.1]]
    """

    def __init__(
        self, X: ArrayLike, y: ArrayLike, *, truth: ArrayLike | None = None, domain: ArrayLike | None = None
    ) -> None:
        given: Any = X
        self.X = given if _stays_in_place(given) else as_inputs(X, None, "Arrays")
        self.horizon, self.dim = self.X.shape
        if 0 in self.X.shape:
            raise invalid("X", "Arrays", "of at least one row and one column", f"shape {self.X.shape}")
        self.y = as_labels(y, self.horizon, "Arrays")
        self.truth = None if truth is None else as_labels(truth, self.horizon, "Arrays", "truth")
        self.domain = None if domain is None else _as_domain(domain, self.horizon)

    @classmethod
    def of(cls, stream: Stream) -> Arrays:
        """Read all examples of another stream into memory."""
        chunks = list(stream.chunks(4096))
        columns = {
            name: np.concatenate([getattr(chunk, name) for chunk in chunks])
            for name in ("X", "y", "truth", "domain")
            if getattr(chunks[0], name) is not None
        }
        return cls(**columns)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield views of `size` rows; the last may be shorter."""
        size = as_count(size, "size", "Arrays.chunks")
        examples = Chunk(self.X, self.y, self.truth, self.domain)
        for start in range(0, self.horizon, size):
            yield examples[start : start + size]


def _stays_in_place(X: Any) -> bool:
    mapped = isinstance(X, np.memmap) and X.dtype.kind == "f"
    return (mapped or is_tensor(X)) and X.ndim == 2


def _as_domain(values: ArrayLike, count: int) -> Ints:
    labels = np.asarray(values)
    if labels.shape != (count,):
        raise invalid("domain", "Arrays", f"of shape ({count},), one per row of X", f"shape {labels.shape}")
    if labels.dtype.kind not in "iu":
        remedy = "Number the domains: numpy.unique(domain, return_inverse=True)[1]."
        raise invalid("domain", "Arrays", "integer labels", f"{labels.dtype} values", remedy)
    return labels.astype(np.int64, copy=False)


class Rest(Stream):
    """Stream without its first examples, which are available as `first`.

    Parameters
    ----------
    stream
        Stream whose first examples are skipped.
    count
        Number of examples to skip.

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
        skip = self.count
        for chunk in self.stream.chunks(size):
            if skip < len(chunk):
                yield chunk[skip:]
            skip = max(0, skip - len(chunk))
