"""The range of labels: given, or learned from those that came."""

from __future__ import annotations

import math

import numpy as np

from qufur.arrays import Floats

WIDENED = 0.1
"""Predictions go beyond a learned range by this share of its width, and by 1/√n more after n labels."""


class LabelRange:
    """The lowest and the highest label so far, or a range that was given.

    >>> seen = LabelRange(None)
    >>> seen.clip(np.array([7.0])), seen.middle
    (array([7.]), 0.0)
    >>> seen.take_in(np.array([10.0, 20.0]))
    >>> seen.clip(np.array([0.0, 15.0])).round(2), seen.largest_loss(np.array([15.0]))
    (array([ 1.93, 15.  ]), array([100.]))
    """

    def __init__(self, given: tuple[float, float] | None) -> None:
        self.given = given
        self.set(*((math.inf, -math.inf) if given is None else given), count=0)

    def set(self, low: float, high: float, count: int) -> None:
        """Let labels, so many of them, have this range."""
        self.low, self.high, self.count = low, high, count
        more = reach = 0.0
        if self.given is None and low <= high:
            more, reach = self.width * (WIDENED + count**-0.5), self.width / 2
        self._ends = (low - more, high + more) if low <= high else (-math.inf, math.inf)
        self._reach = low - reach, high + reach

    @property
    def width(self) -> float:
        """High less low; 0 while that is not known."""
        return max(0.0, self.high - self.low)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends that prediction intervals are clipped to; None where a range is given, or none is known.

        They are those of predictions. But where all labels have been on one side of 0, no end is beyond it.
        """
        if self.given is not None or not self.width:
            return None
        low, high = self._ends
        return max(low, 0.0) if self.low >= 0 else low, min(high, 0.0) if self.high <= 0 else high

    @property
    def middle(self) -> float:
        """What is predicted before the first label."""
        return 0.0 if self.given is None else (self.low + self.high) / 2

    def take_in(self, labels: Floats) -> None:
        """Let labels widen a range that is learned."""
        if self.given is None and len(labels):
            values = labels.tolist()
            self.set(min(self.low, *values), max(self.high, *values), self.count + len(labels))

    def clip(self, predictions: Floats) -> Floats:
        """Keep predictions within the range, somewhat widened if it is learned."""
        low, high = self._ends
        return np.minimum(np.maximum(predictions, low), high)

    def largest_loss(self, predictions: Floats) -> Floats:
        """Return the largest squared loss that each may have: 0 where nobody knows.

        A learned range is doubled for that.
        """
        if not self.width:
            return np.zeros(len(predictions))
        low, high = self._reach
        return np.maximum(predictions - low, high - predictions) ** 2

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest squared loss that one prediction may have."""
        if not self.width:
            return 0.0
        low, high = self._reach
        most = max(prediction - low, high - prediction)
        return most * most
