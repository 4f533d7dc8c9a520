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
        self.low, self.high = (math.inf, -math.inf) if given is None else given
        self.count = 0

    @property
    def width(self) -> float:
        """High less low; 0 while that is not known."""
        return max(0.0, self.high - self.low)

    @property
    def middle(self) -> float:
        """What is predicted before the first label."""
        return 0.0 if self.given is None else (self.low + self.high) / 2

    def take_in(self, labels: Floats) -> None:
        """Let labels widen a range that is learned."""
        self.count += len(labels)
        if self.given is None and len(labels):
            values = labels.tolist()
            self.low, self.high = min(self.low, *values), max(self.high, *values)

    def clip(self, predictions: Floats) -> Floats:
        """Keep predictions within the range, somewhat widened if it is learned."""
        if self.low > self.high:
            return predictions
        more = self.width * (WIDENED + self.count**-0.5) if self.given is None else 0.0
        return np.minimum(np.maximum(predictions, self.low - more), self.high + more)

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

    @property
    def _reach(self) -> tuple[float, float]:
        more = self.width / 2 if self.given is None else 0.0
        return self.low - more, self.high + more
