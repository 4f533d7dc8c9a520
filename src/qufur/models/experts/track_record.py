"""Sums of losses: what every expert said, and what the committee said, against the labels that came."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats, check_shapes


class TrackRecord:
    """Losses of experts and, last, of their committee, each with the weight 1/p of its label.

    >>> record = TrackRecord(experts=1)
    >>> record.take_in(np.array([[4.0, 1.0], [0.0, 2.0]]), probability=np.array([0.5, 1.0]))
    >>> record.means().round(3), record.standard_errors().round(3)
    (array([2.667, 1.333]), array([1.414]))
    """

    def __init__(self, experts: int) -> None:
        self.labels = 0
        self._sums = np.zeros(2 * experts + 2)
        self._experts = experts

    def take_in(self, losses: Floats, probability: Floats) -> None:
        """Take note of labels that were bought with these probabilities."""
        p, lead = probability[:, None], losses[:, -1:] - losses[:, :-1]
        self.labels += len(losses)
        # The variance of q·d/p is d²(1 − p)/p, of which the last is the estimate without bias.
        terms = np.hstack([1 / p, losses / p, lead**2 * (1 - p) / p**2])
        # One after the other: then no bit depends on how many come together.
        self._sums = np.add.accumulate(np.vstack([self._sums, terms]))[-1].copy()

    def means(self) -> Floats:
        """Return the mean losses of the experts and of the committee; NaN before the first label."""
        losses = self._sums[1 : self._experts + 2]
        return losses / self._sums[0] if self.labels else np.full(len(losses), np.nan)

    def standard_errors(self) -> Floats:
        """Return the standard errors of the differences between the committee and each expert."""
        return np.sqrt(self._sums[self._experts + 2 :]) / (self._sums[0] or 1.0)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        return {"sums": np.append(self._sums, float(self.labels))}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned."""
        check_shapes(arrays, {"sums": (len(self._sums) + 1,)})
        self._sums, self.labels = arrays["sums"][:-1].copy(), int(arrays["sums"][-1])
