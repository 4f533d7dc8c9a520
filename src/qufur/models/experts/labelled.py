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
        self._rows: list[Floats] = []
        self._labels: list[float] = []
        self._terms: list[Terms] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: Floats, label: float, terms: Terms) -> None:
        """Add one row."""
        self._rows.append(row)
        self._labels.append(label)
        self._terms.append(terms)

    def first(self, count: int | None = None) -> Sample:
        """Return the first so many rows, by default all."""
        X = np.array(self._rows[:count])
        terms = np.array(self._terms[:count], dtype=np.float64).reshape(-1, 3)
        return Sample(X.reshape(len(X), -1 if len(X) else 0), np.array(self._labels[:count]), terms)

    def rows(self) -> list[Floats]:
        """Return all rows."""
        return self._rows

    def relabel(self, labels: Sequence[float]) -> None:
        """Let the rows have had other labels."""
        self._labels = list(labels)

    def remove(self, places: Sequence[int]) -> None:
        """Forget rows."""
        for place in sorted(places, reverse=True):
            del self._rows[place], self._labels[place], self._terms[place]

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        return self.first()._asdict()

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]], dim: int) -> None:
        """Take over what `arrays` returned."""
        if len(arrays["y"]):
            check_shapes(arrays, {"X": "nd", "y": "n", "terms": ("n", 3)}, d=dim)
        self._rows, self._labels = list(arrays["X"]), arrays["y"].tolist()
        self._terms = [Terms(p, mean, bool(at_random)) for p, mean, at_random in arrays["terms"].tolist()]


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
        p, mean = self.terms[:, :2].T
        age = np.arange(len(p))[::-1]
        # The last bits of p may depend on blocks, and trees turn them into other splits.
        heavy = np.round(np.minimum(HEAVIEST, (mean / p) ** importance), 6)
        return np.asarray(heavy * 0.5 ** (age / half_life))
