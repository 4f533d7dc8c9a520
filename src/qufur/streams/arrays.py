"""Examples that are already in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Ints, as_count, as_inputs, as_labels
from qufur.errors import invalid
from qufur.streams.base import Chunk, Stream
from qufur.tensors import is_tensor


class Arrays(Stream):
    """Rows of a matrix, in order.

    Chunks are views; float64 arrays in C order are not copied at all.

    Parameters
    ----------
    X, y
        Inputs (T, d) and labels (T,), finite, T at least 1. Inputs that are elsewhere stay there, and are
        checked as they are played: a tensor of torch on its device, a `numpy.memmap` in its file.
    truth
        f*(x_t) for each row, where it is known: regret is measured against it.
    domain
        An integer label for each row, where the domains are known.

    Examples
    --------
    >>> stream = Arrays([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], [0.5, -0.5, 0.1])
    >>> [chunk.y.tolist() for chunk in stream.chunks(2)]
    [[0.5, -0.5], [0.1]]
    """

    horizon: int

    def __init__(
        self, X: ArrayLike, y: ArrayLike, *, truth: ArrayLike | None = None, domain: ArrayLike | None = None
    ) -> None:
        given: Any = X
        self.X = given if _is_elsewhere(given) else as_inputs(X, None, "Arrays")
        self.horizon, self.dim = self.X.shape
        if 0 in self.X.shape:
            raise invalid("X", "Arrays", "of at least one row and one column", f"shape {self.X.shape}")
        self.y = as_labels(y, self.horizon, "Arrays")
        self.truth = None if truth is None else as_labels(truth, self.horizon, "Arrays", "truth")
        self.domain = None if domain is None else _as_domain(domain, self.horizon)

    @classmethod
    def of(cls, stream: Stream) -> Arrays:
        """Return the examples of another stream, held in memory."""
        chunks = list(stream.chunks(4096))
        X, y = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("X", "y"))
        known = {name: getattr(chunks[0], name) is not None for name in ("truth", "domain")}
        return cls(X, y, **{n: np.concatenate([getattr(c, n) for c in chunks]) for n in known if known[n]})

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield views of `size` rows; the last may be shorter."""
        size = as_count(size, "size", "Arrays.chunks")
        for start in range(0, self.horizon, size):
            rows = slice(start, start + size)
            truth = None if self.truth is None else self.truth[rows]
            domain = None if self.domain is None else self.domain[rows]
            yield Chunk(self.X[rows], self.y[rows], truth, domain)


def _is_elsewhere(X: Any) -> bool:
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
