"""Base class of streams on real data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qufur.arrays import as_count
from qufur.data import Copy, Dataset
from qufur.errors import invalid
from qufur.streams.arrays import Arrays
from qufur.streams.base import Chunk, Stream


class Recorded(Stream):
    """Stream of examples from a dataset.

    Attributes
    ----------
    X, y, domain
        All examples, in order; inputs in float64, labels as floats, domains from 0.
    durations
        Length of each segment of one domain.
    provenance
        Title, origin, files and their digests in one line.
    stand_in
        Whether the data only stand in for those of the paper.
    largest_norm
        max‖x‖: the authors' scripts set M₀⁻¹ = I/max‖x‖, which is `regularization=stream.largest_norm`.
    """

    dataset: ClassVar[Dataset]

    def __init__(
        self, X: ArrayLike, y: ArrayLike, domain: ArrayLike, *, durations: Sequence[int], copy: Copy
    ) -> None:
        self._arrays = Arrays(X, y, domain=domain)
        self.X, self.y, self.domain = self._arrays.X, self._arrays.y, self._arrays.domain
        self.horizon, self.dim = self.X.shape
        self.durations = tuple(durations)
        self.provenance, self.stand_in = copy.provenance, copy.edition.stand_in
        self.largest_norm = float(np.linalg.norm(self.X, axis=1).max())

    @property
    def shifts(self) -> list[int]:
        """Positions at which a new segment begins."""
        return list(accumulate(self.durations))[:-1]

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield views of `size` examples."""
        return self._arrays.chunks(size)


def as_durations(durations: Any, owner: str) -> tuple[int, ...]:
    """Validate the lengths of segments: at least one, each at least 1."""
    if np.ndim(durations) != 1 or not len(durations):
        raise invalid("durations", owner, "a sequence of positive integers", repr(durations))
    return tuple(as_count(T_u, "each of durations", owner) for T_u in durations)


def frozen(values: ArrayLike) -> NDArray[Any]:
    """Return a read-only array: all streams of a process share it."""
    array = np.asarray(values)
    array.flags.writeable = False
    return array
