"""The labelled rows, in the order in which their labels came, with the terms on which they were bought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats, check_shapes

HEAVIEST = 20.0
"""The most that one label can stand for."""


class Terms(NamedTuple):
    """On what terms one label was bought; a free one has weight 1 and is not of the uniform sample.

    Attributes
    ----------
    probability, mean_probability
        p, and the mean of p over all examples up to this one.
    at_random
        Whether its coin lay below the floor: those labels are a uniform sample.
    """

    probability: float
    mean_probability: float
    at_random: bool


FREE = Terms(1.0, 1.0, False)


class Labelled:
    """Rows, labels and terms; it grows with the labels alone."""

    def __init__(self) -> None:
        self._all = Sample(np.empty((0, 0)), np.empty(0), np.empty((0, 3)))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, row: Floats, label: float, terms: Terms) -> None:
        """Add one row."""
        at = self._count
        if at == len(self._all.y):  # doubling: rows are copied once on average, however many come
            self._all = Sample(*map(_grown, self._all, ((len(row),), (), (3,))))
        self._all.X[at], self._all.y[at], self._all.terms[at] = row, label, terms
        self._count = at + 1

    def first(self, count: int | None = None) -> Sample:
        """Return the first so many rows, by default all; they are not to be written to."""
        stop = self._count if count is None else min(count, self._count)
        return Sample(*(part[:stop] for part in self._all))

    def relabel(self, labels: Sequence[float]) -> None:
        """Let the rows have had other labels."""
        self._all = self.first()._replace(y=np.array(labels, dtype=np.float64))

    def remove(self, places: Sequence[int]) -> None:
        """Forget rows."""
        self._all = Sample(*(np.delete(part, places, axis=0) for part in self.first()))
        self._count = len(self._all.y)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        return self.first()._asdict()

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]], dim: int) -> None:
        """Take over what `arrays` returned."""
        if len(arrays["y"]):
            check_shapes(arrays, {"X": "nd", "y": "n", "terms": ("n", 3)}, d=dim)
        self._all, self._count = Sample(arrays["X"], arrays["y"], arrays["terms"]), len(arrays["y"])


def _grown(rows: Floats, shape: tuple[int, ...]) -> Floats:
    grown = np.empty((max(16, 2 * len(rows)), *shape))
    grown[: len(rows)] = rows.reshape(-1, *shape)
    return grown


class Sample(NamedTuple):
    """Labelled rows as arrays."""

    X: Floats
    y: Floats
    terms: Floats

    @property
    def at_random(self) -> Bools:
        """Which rows are of the uniform sample."""
        return self.terms[:, 2] > 0

    def weights(self, importance: float, half_life: float) -> Floats:
        """Return min(20, (p̄/p)^κ), and half of it for every `half_life` labels that came since."""
        return self.importances(importance) * self.decay(half_life)

    def importances(self, importance: float) -> Floats:
        """Return min(20, (p̄/p)^κ)."""
        p, mean = self.terms[:, :2].T
        # The last bits of p may depend on blocks, and trees turn them into other splits.
        return np.asarray(np.round(np.minimum(HEAVIEST, (mean / p) ** importance), 6))

    def decay(self, half_life: float) -> Floats:
        """Return 1 for the last label, and half of it for every `half_life` before."""
        return np.asarray(0.5 ** (np.arange(len(self.y))[::-1] / half_life))
