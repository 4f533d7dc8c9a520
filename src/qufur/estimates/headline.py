"""Headline error: one number with one interval, shown by all pages, commands and HTTP responses.

It is the error of the predictions at the time they were made, over all rows with a positive query
probability, estimated from the queried labels; `qufur.estimates.loss` has the derivation. For numbers it is
the root mean squared error, in the units of the labels; for classes it is the share of wrong predictions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from qufur.learner import Learner

CONFIDENCE = 0.95
"""Probability that the interval contains the error at all times simultaneously."""


class Headline(NamedTuple):
    """The error over all covered rows, with its interval.

    Attributes
    ----------
    error
        None until a covered row is labelled. Without a given label range, rows predicted before the first
        labels are not covered.
    low, high
        The ends of the interval; None if unbounded or unknown.
    covered
        Share of rows with a positive query probability, over which the error is estimated.
    """

    error: float | None
    low: float | None
    high: float | None
    covered: float

    @classmethod
    def of(cls, learner: Learner) -> Headline:
        """Return the headline error of a learner."""
        loss, interval, covered = learner.ledger.mean_loss(learner.pending.values())
        return cls.of_loss(loss, interval, covered, squared=not learner.model.label_codec.classifies)

    @classmethod
    def of_loss(
        cls, loss: float, interval: tuple[float, float], covered: float, *, squared: bool
    ) -> Headline:
        """Convert a mean loss and its interval to the units of the headline.

        >>> Headline.of_loss(0.25, (0.16, float("inf")), 1.0, squared=True)
        Headline(error=0.5, low=0.4, high=None, covered=1.0)
        >>> Headline.of_loss(0.25, (0.16, 0.36), 1.0, squared=False)
        Headline(error=0.25, low=0.16, high=0.36, covered=1.0)
        """
        if not covered > 0:  # NaN before the first row
            return cls(None, None, None, 0.0)
        values = [loss, *interval]
        if squared:  # rounding may make an end negative
            values = [math.sqrt(value) if value >= 0 else math.nan for value in values]
        error, low, high = map(finite_or_none, values)
        return cls(error, low, high, covered)


def finite_or_none(value: float) -> float | None:
    """Return a finite value; None for NaN and ±∞."""
    return value if math.isfinite(value) else None
