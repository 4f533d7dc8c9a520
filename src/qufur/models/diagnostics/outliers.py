"""Labels so far from the others that they may be mistakes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats

FARTHEST = 10.0
"""How many widths of the range a label may lie outside it."""
FEWEST = 20
"""Labels that a learned range has to rest on."""
FEW = 8
"""Up to so many labels, NumPy takes longer over them than Python."""


class KnownRange(NamedTuple):
    """The range of labels, as far as it is known.

    Attributes
    ----------
    low, high
        Its ends.
    labels
        From how many labels it was learned; ∞ if it was given.
    """

    low: float
    high: float
    labels: float = math.inf


class Outlier(NamedTuple):
    """A label far out of the range that was known before it.

    Attributes
    ----------
    name, label, low, high
        The first such label, what it belongs to, and the range.
    others
        How many more there are.
    """

    name: object
    label: float
    low: float
    high: float
    others: int

    @property
    def allowed(self) -> str:
        """Where labels are expected."""
        return f"at most ten times the range [{self.low:g}, {self.high:g}] away from it"

    @property
    def received(self) -> str:
        """What came."""
        more = f" and {self.others} more" if self.others else ""
        return f"{self.label:g} for {self.name!r}{more}"

    def __str__(self) -> str:
        return f"A label should be {self.allowed}, got {self.received}. Is it a mistake?"


def first_outlier(known: KnownRange, names: Sequence[object], labels: Floats) -> Outlier | None:
    """Return what is to be said of labels that come in this order, each of which may widen a learned range.

    >>> first_outlier(KnownRange(0.0, 2.0), ["a", "b"], np.array([22.0, -21.0])).received
    "-21 for 'b'"
    >>> first_outlier(KnownRange(0.0, 2.0, labels=19), ["a", "b"], np.array([99.0, -1.0]))
    """
    low, high, count = known
    reach = FARTHEST * (high - low)
    ends = labels.tolist() if len(labels) <= FEW else (labels.min(), labels.max())
    if all(low - reach <= end <= high + reach for end in ends):
        return None  # the usual case, at little cost: no label makes a range smaller
    if count < math.inf:
        lows, highs = (
            f.accumulate(np.append(end, labels[:-1])) for f, end in ((np.minimum, low), (np.maximum, high))
        )
    else:
        lows, highs = np.full(len(labels), low), np.full(len(labels), high)
    with np.errstate(over="ignore", invalid="ignore"):  # before the first label the width is −∞
        reaches = FARTHEST * (highs - lows)
        away = np.maximum(lows - labels, labels - highs)
    # A width of 0 is that of a constant, from which one label says nothing.
    odd = np.flatnonzero((count + np.arange(len(labels)) >= FEWEST) & (reaches > 0) & (away > reaches))
    if not len(odd):
        return None
    place = odd[0].item()
    label, low, high = (column[place].item() for column in (labels, lows, highs))
    return Outlier(names[place], label, low, high, len(odd) - 1)
