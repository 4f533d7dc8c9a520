"""Pivoted Cholesky of a covariance in which a pivot is the row that tells most about all the others."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Bools, Floats, Ints

NOISE = 0.1
"""Variance of the noise in a label, where that of what is to be learned is 1."""


def squared_distances(A: Floats, B: Floats) -> Floats:
    """Return ‖a − b‖² for all pairs of rows, (len(A), len(B)).

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]])).ravel()
    array([ 0., 25.])
    """
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)
    return np.asarray(np.maximum(squares - 2 * A @ B.T, 0.0))


def kernel(A: Floats, B: Floats) -> Floats:
    """Return exp(−‖a − b‖² / 2) for all pairs of rows."""
    return np.asarray(np.exp(-0.5 * squared_distances(A, B)))


class Posterior:
    """A Gaussian process after some labels, whatever they say: the covariance of rows, as a Cholesky factor.

    With k the posterior covariance, a label of row j lowers the variance of row i by k(i, j)² / (k(j, j) +
    noise). The mean of k(i, j)² over references i is kept for all j, and brought up to date after each label.

    Parameters
    ----------
    rows
        Scaled inputs, (n, dim).
    references
        Those over which variance is averaged, (r, dim): the first rows.
    labels
        How many will come at most.
    """

    def __init__(self, rows: Floats, references: int, labels: int) -> None:
        self._rows, self._count, self._labels = rows, references, 0
        self._prior = kernel(rows[:references], rows)
        self._factor = np.empty((len(rows), labels), order="F")
        self._variance = np.ones(len(rows))
        self._squares = np.einsum("ij,ij->j", self._prior, self._prior) / references

    @property
    def uncertainty(self) -> float:
        """The mean variance of the references."""
        return float(self._variance[: self._count].mean())

    def best(self, free: Bools) -> int:
        """Return the row, of those that are free, whose label would lower the mean variance most."""
        return int(np.where(free, self._squares / (self._variance + NOISE), -1.0).argmax())

    def label(self, row: int) -> None:
        """Take in that a row has a label, O(n · (r + labels so far))."""
        factor, count = self._factor[:, : self._labels], self._count
        covariance = kernel(self._rows, self._rows[row : row + 1])[:, 0] - factor @ factor[row]
        near, scale = covariance[:count], covariance[row] + NOISE
        cross = near @ self._prior - factor @ (near @ factor[:count])
        gain = covariance / scale
        self._squares += gain * (gain * (near @ near) - 2 * cross) / count
        self._variance -= gain * covariance
        self._factor[:, self._labels] = covariance / np.sqrt(scale)
        self._labels += 1


def greedy(pool: Floats, known: Floats, budget: int, *, references: int) -> tuple[Ints, Floats]:
    """Choose rows one after the other, each the one that lowers the mean variance most.

    Parameters
    ----------
    pool
        Scaled rows, (n, dim), in random order.
    known
        Those that have labels, (k, dim).
    budget
        How many to choose.
    references
        The mean is over the first so many rows of the pool.

    Returns
    -------
    The places of the rows in the pool, and the mean variance before the first and after each.
    """
    rows = np.vstack([pool, known])
    posterior = Posterior(rows, min(references, len(pool)), len(known) + budget)
    for row in range(len(pool), len(rows)):
        posterior.label(row)
    free, chosen, uncertainty = np.arange(len(rows)) < len(pool), [], [posterior.uncertainty]
    for _ in range(budget):
        row = posterior.best(free)
        posterior.label(row)
        free[row] = False
        chosen.append(row)
        uncertainty.append(posterior.uncertainty)
    return np.array(chosen), np.array(uncertainty)
