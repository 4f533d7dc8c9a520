"""Errors class by class, so that rare ones are seen."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Floats, Ints, check_shapes

DEVIATIONS = 1.96
"""Of a normal distribution, for intervals of 95 %."""


class ClassError(NamedTuple):
    """How a committee does on the examples of one class.

    Attributes
    ----------
    name, labels
        The class, and how many labels of it were bought and rest on something that was said before.
    share
        How many of all examples are of this class, by inverse probability.
    error, low, high
        The share of these whose class was wrong when they came, with an interval of about 95 %; NaN without
        labels.
    """

    name: str
    labels: int
    share: float
    error: float
    low: float
    high: float


class ClassErrors:
    """Sums over the labels of each class, each label with the weight 1/p.

    The interval is Wilson's for (Σ1/p)²/Σ1/p² labels, as many as would say as much if they weighed the same.
    It is for one look, unlike that of the report's loss.

    >>> errors = ClassErrors(2)
    >>> errors.take_in(np.array([1, 1, 1, 1]), np.array([1.0, 0.0, 0.0, 0.0]), probability=np.full(4, 0.5))
    >>> [round(value, 2) for value in errors.of(["no", "yes"])[1][3:]]
    [0.25, 0.05, 0.7]
    """

    def __init__(self, classes: int) -> None:
        self._sums = np.zeros((classes, 4))

    def take_in(self, labels: Ints, wrong: Floats, probability: Floats) -> None:
        """Take note of labels; `wrong` is 1 or 0."""
        weight, sums = 1 / probability, self._sums.copy()
        np.add.at(sums, labels, np.column_stack([np.ones(len(labels)), weight, wrong * weight, weight**2]))
        self._sums = sums

    def of(self, names: list[str]) -> tuple[ClassError, ...]:
        """Return the errors of all classes."""
        whole = self._sums[:, 1].sum() or 1.0
        return tuple(
            ClassError(name, int(labels), weight / whole, *_interval(weight, wrong, squares))
            for name, (labels, weight, wrong, squares) in zip(names, self._sums.tolist(), strict=True)
        )

    def take_over(self, other: ClassErrors) -> None:
        """Go on from the errors of fewer classes, the first of these."""
        self._sums[: len(other._sums)] = other._sums

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        return {"sums": self._sums}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned; files of before have none."""
        if arrays:
            check_shapes(arrays, {"sums": ("c", 4)}, c=len(self._sums))
            self._sums = arrays["sums"]


def _interval(weight: float, wrong: float, squares: float) -> tuple[float, float, float]:
    if not weight:
        return math.nan, 0.0, 1.0
    share, labels = wrong / weight, weight**2 / squares
    z = DEVIATIONS**2 / labels
    middle, half = share + z / 2, math.sqrt(z * (share * (1 - share) + z / 4))
    low, high = ((middle + side) / (1 + z) for side in (-half, half))
    return share, min(max(low, 0.0), share), max(min(high, 1.0), share)
