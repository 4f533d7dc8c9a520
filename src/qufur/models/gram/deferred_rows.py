"""Rows that wait to enter a matrix together."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.models.gram import blas


class DeferredRows:
    """Rows x whose Σ x xᵀ, times `sign`, has yet to enter a symmetric matrix, of which one triangle is kept.

    A row by itself reads and writes all of a matrix for a flop or two per number; many together are bound by
    the speed of the matrix product, and round once.

    Attributes
    ----------
    count
        How many rows wait.

    >>> matrix, deferred = np.zeros((2, 2), order="F"), DeferredRows(room=2, dim=2, sign=1.0)
    >>> deferred.add_one(np.array([1.0, 2.0]), matrix)
    >>> deferred.count, matrix.sum().item()
    (1, 0.0)
    >>> deferred.add_one(np.array([1.0, 0.0]), matrix)
    >>> deferred.count, matrix.tolist()
    (0, [[2.0, 2.0], [0.0, 4.0]])
    """

    def __init__(self, room: int, dim: int, sign: float) -> None:
        self._buffer = np.empty((room, dim))
        self.count = 0
        self._sign = sign

    @property
    def rows(self) -> Floats:
        """The rows that wait."""
        return self._buffer[: self.count]

    def add(self, X: Floats, matrix: Floats) -> None:
        """Let rows wait; where there is no room for them, those before enter the matrix."""
        if self.count + len(X) > len(self._buffer):
            self.enter(matrix)
        if len(X) > len(self._buffer):
            blas.dsyrk(self._sign, X.T, beta=1.0, c=matrix, overwrite_c=1)
        else:
            self._buffer[self.count : self.count + len(X)] = X
            self._put(len(X), matrix)

    def add_one(self, x: Floats, matrix: Floats) -> None:
        """Let one row wait."""
        self._buffer[self.count] = x
        self._put(1, matrix)

    def enter(self, matrix: Floats) -> None:
        """Let all rows enter the matrix, in place."""
        if self.count == 1:
            blas.dsyr(self._sign, self._buffer[0], a=matrix, overwrite_a=1)
        elif self.count:
            blas.dsyrk(self._sign, self.rows.T, beta=1.0, c=matrix, overwrite_c=1)
        self.clear()

    def clear(self) -> None:
        """Let no row wait any longer."""
        self.count = 0

    def _put(self, count: int, matrix: Floats) -> None:
        self.count += count
        if self.count == len(self._buffer):
            self.enter(matrix)
