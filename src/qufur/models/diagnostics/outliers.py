"""Detection of labels far outside the range of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats

MAX_WIDTHS = 10.0
"""Maximum distance of a label from the range, in widths of the range."""
MIN_LABELS = 20
"""Labels that a learned range needs."""


class ObservedRange(NamedTuple):
    """Range of the labels so far.

    Attributes
    ----------
    low, high
        Its ends.
    labels
        Number of labels it was learned from; ∞ for a given range.
    """

    low: float
    high: float
    labels: float = math.inf


class Outlier(NamedTuple):
    """A label far outside the range observed before it.

    Attributes
    ----------
    name, label, low, high
        Name and value of the first such label, and the range.
    others
        Number of further outliers.
    """

    name: object
    label: float
    low: float
    high: float
    others: int

    @property
    def allowed(self) -> str:
        """Expected labels, for messages."""
        return f"at most ten times the range [{self.low:g}, {self.high:g}] away from it"

    @property
    def received(self) -> str:
        """Received label, for messages."""
        more = f" and {self.others} more" if self.others else ""
        return f"{self.label:g} for {self.name!r}{more}"

    def __str__(self) -> str:
        return f"A label should be {self.allowed}, got {self.received}. Is it a mistake?"


def first_outlier(observed: ObservedRange, names: Sequence[object], labels: Floats) -> Outlier | None:
    """Return the first outlier of labels in this order, each of which may widen a learned range.

    >>> first_outlier(ObservedRange(0.0, 2.0), ["a", "b"], np.array([22.0, -21.0])).received
    "-21 for 'b'"
    >>> first_outlier(ObservedRange(0.0, 2.0, labels=19), ["a", "b"], np.array([99.0, -1.0]))
    """
    low, high, count = observed
    margin = MAX_WIDTHS * (high - low)
    if all(low - margin <= label <= high + margin for label in labels.tolist()):
        return None  # fast path: labels never shrink a range
    if count < math.inf:
        lows = np.minimum.accumulate(np.append(low, labels[:-1]))
        highs = np.maximum.accumulate(np.append(high, labels[:-1]))
    else:
        lows, highs = np.full(len(labels), low), np.full(len(labels), high)
    with np.errstate(over="ignore", invalid="ignore"):  # before the first label the width is −∞
        margins = MAX_WIDTHS * (highs - lows)
        distance = np.maximum(lows - labels, labels - highs)
    # With a width of 0, all labels so far are equal and give no scale.
    outliers = np.flatnonzero(
        (count + np.arange(len(labels)) >= MIN_LABELS) & (margins > 0) & (distance > margins)
    )
    if not len(outliers):
        return None
    index = outliers[0].item()
    return Outlier(
        names[index], labels[index].item(), lows[index].item(), highs[index].item(), len(outliers) - 1
    )
