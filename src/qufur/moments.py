"""Running mean and standard deviation of rows that arrive in batches."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats


class Moments:
    """Column moments of all rows so far, merged by Chan's formula, in O(d) memory.

    The first row is subtracted from all rows: a constant column then has standard deviation exactly 0, and a
    small spread around a large value keeps its digits.

    Examples
    --------
    >>> moments = Moments()
    >>> moments.add(np.array([[1.0], [2.0]]))
    >>> moments.add(np.array([[1.0]]))
    >>> moments.count, moments.mean.round(4).item(), moments.std.round(4).item()
    (3, 1.3333, 0.4714)
    """

    def __init__(self) -> None:
        self.count = 0

    def add(self, X: Floats) -> None:
        """Update the moments with rows of shape (n, d); n may be 0."""
        if not len(X):
            return
        if not self.count:
            self._origin: Floats = X[0].copy()
            self._mean: Floats = np.zeros(X.shape[1])
            self._squares: Floats = np.zeros(X.shape[1])
        X = X - self._origin
        mean = np.add.reduce(X) / len(X)  # `np.mean` takes twice as long for few rows
        X -= mean
        X *= X
        step, share = mean - self._mean, len(X) / (self.count + len(X))
        # Not in place, so that a shallow copy of the object stays independent.
        self._squares = self._squares + (np.add.reduce(X) + step**2 * self.count * share)
        self._mean = self._mean + step * share
        self.count += len(X)

    @property
    def mean(self) -> Floats:
        """The mean of every column, (d,)."""
        return self._origin + self._mean

    @property
    def std(self) -> Floats:
        """The population standard deviation of every column (divisor n), (d,)."""
        deviation: Floats = np.sqrt(self._squares / self.count)
        return deviation

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Return the arrays that `restored` takes beside the count."""
        return self._origin, self._mean, self._squares

    @classmethod
    def restored(cls, count: int, arrays: Floats) -> Moments:
        """Rebuild the moments of `count` rows from their `arrays`."""
        moments = cls()
        moments.count = count
        moments._origin, moments._mean, moments._squares = (row.copy() for row in arrays)
        return moments
