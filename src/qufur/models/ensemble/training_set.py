"""Labelled rows with the probabilities of their purchase, and the range of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats, check_shapes

RANGE_MARGIN = 0.1
"""Share of the width by which predictions may exceed a learned range, plus 1/√n after n labels."""
MAX_WEIGHT = 20.0
"""Cap of the importance weight of one label."""


class LabelRange:
    """Range of the labels so far, or a given range.

    >>> seen = LabelRange(None)
    >>> seen.clip(np.array([7.0]))
    array([7.])
    >>> seen.update(np.array([10.0, 20.0]))
    >>> seen.clip(np.array([0.0, 15.0])).round(2), seen.largest_loss(np.array([15.0]))
    (array([ 1.93, 15.  ]), array([100.]))
    """

    def __init__(self, given: tuple[float, float] | None) -> None:
        self.given = given
        self.set(*((math.inf, -math.inf) if given is None else given), count=0)

    def set(self, low: float, high: float, count: int) -> None:
        """Set the range of `count` labels."""
        self.low, self.high, self.count = low, high, count
        clip_margin = loss_margin = 0.0
        if self.given is None and low <= high:
            clip_margin, loss_margin = self.width * (RANGE_MARGIN + count**-0.5), self.width / 2
        self._clip_range = (-math.inf, math.inf)
        if low <= high:
            self._clip_range = low - clip_margin, high + clip_margin
        self._loss_range = low - loss_margin, high + loss_margin

    @property
    def width(self) -> float:
        """Width of the range; 0 if it is unknown."""
        return max(0.0, self.high - self.low)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Bounds of prediction intervals; None if the range is given or unknown.

        They are the bounds of predictions, cut at 0 if all labels are on one side of it.
        """
        if self.given is not None or not self.width:
            return None
        low, high = self._clip_range
        return max(low, 0.0) if self.low >= 0 else low, min(high, 0.0) if self.high <= 0 else high

    def update(self, labels: Floats) -> None:
        """Widen a learned range to include these labels."""
        if self.given is None and len(labels):
            values = labels.tolist()
            self.set(min(self.low, *values), max(self.high, *values), self.count + len(labels))

    def clip(self, predictions: Floats) -> Floats:
        """Clip predictions to the range; a learned range is widened by a margin."""
        low, high = self._clip_range
        return np.minimum(np.maximum(predictions, low), high)

    def largest_loss(self, predictions: Floats) -> Floats:
        """Return the largest possible squared loss of each prediction; 0 if the range is unknown.

        A learned range is doubled first.
        """
        if not self.width:
            return np.zeros(len(predictions))
        low, high = self._loss_range
        return np.maximum(predictions - low, high - predictions) ** 2

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest possible squared loss of one prediction."""
        if not self.width:
            return 0.0
        low, high = self._loss_range
        error = max(prediction - low, high - prediction)
        return error * error


FREE = (1.0, 1.0, False)
"""Terms of a label that was not bought: it has weight 1 and is not part of the uniform sample."""


class TrainingSet:
    """Labelled rows in the order of their labels, with labels and purchases.

    Memory grows with the labels, not with the rows of the stream.
    """

    def __init__(self) -> None:
        self._all = Sample(np.empty((0, 0)), np.empty(0), np.empty((0, 3)))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, row: Floats, label: float, terms: Sequence[float]) -> None:
        """Add one row, with the probability, mean probability and `at_random` of its purchase."""
        index = self._count
        if index == len(self._all.y):  # doubling: each row is copied once on average
            size = max(16, 2 * index)
            shapes = (size, len(row)), (size,), (size, 3)
            self._all = Sample(*map(np.resize, self._all, shapes))
        self._all.X[index], self._all.y[index], self._all.terms[index] = row, label, terms
        self._count = index + 1

    def first(self, count: int | None = None) -> Sample:
        """Return the first `count` rows, by default all, as views; do not write to them."""
        stop = self._count if count is None else min(count, self._count)
        return Sample(*(part[:stop] for part in self._all))

    def relabel(self, labels: Sequence[float]) -> None:
        """Replace the labels of all rows."""
        self._all = self.first()._replace(y=np.array(labels, dtype=np.float64))

    def remove(self, indices: Sequence[int]) -> None:
        """Remove rows."""
        self._all = Sample(*(np.delete(part, indices, axis=0) for part in self.first()))
        self._count = len(self._all.y)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state as named arrays."""
        return self.first()._asdict()

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]], dim: int) -> None:
        """Load the state that `arrays` returned."""
        if len(arrays["y"]):
            check_shapes(arrays, {"X": "nd", "y": "n", "terms": ("n", 3)}, d=dim)
        self._all, self._count = Sample(arrays["X"], arrays["y"], arrays["terms"]), len(arrays["y"])


class Sample(NamedTuple):
    """Labelled rows as arrays.

    Attributes
    ----------
    X, y
        Rows and labels.
    terms
        Probability, mean probability and `at_random` of each label, see `qufur.pending.purchase_terms`.
    """

    X: Floats
    y: Floats
    terms: Floats

    @property
    def at_random(self) -> Bools:
        """Mask of the rows in the uniform sample."""
        return self.terms[:, 2] > 0

    def weights(self, importance: float, half_life: float) -> Floats:
        """Return min(20, (p̄/p)^κ), halved for every `half_life` labels received since."""
        p, mean = self.terms[:, :2].T
        # Rounded: the last bits of p may depend on how rows are batched, and trees would split differently.
        importances = np.round(np.minimum(MAX_WEIGHT, (mean / p) ** importance), 6)
        return np.asarray(importances * 0.5 ** (np.arange(len(self.y))[::-1] / half_life))
