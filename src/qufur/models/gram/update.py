"""Rows about to enter a Gram matrix, with their covariances and Cholesky factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats
from qufur.models.gram import blas


@dataclass(frozen=True)
class Update:
    """Rows X and the lower Cholesky factor L of I + their covariances, before they are absorbed.

    W gives covariances: X M⁻¹ in a linear model, the coordinates of the rows in a kernel model.
    """

    X: Floats
    W: Floats
    L: Floats

    @classmethod
    def bare(cls, X: Floats) -> Update:
        """Return an update without W and L, for a form that needs the rows only."""
        return cls(X, X[:0], np.empty((0, 0)))

    @classmethod
    def single(cls, x: Floats, solved: Floats, variance: float) -> Update:
        """Return the update of one row whose M⁻¹x and variance are given."""
        return cls(x[None], solved[None], np.array([[math.sqrt(1.0 + variance)]]))

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def joined(cls, parts: Sequence[tuple[Update, Floats]]) -> Update:
        """Concatenate updates whose L treats the earlier ones as absorbed.

        Each part comes with its rows of L left of the diagonal block.
        """
        if len(parts) == 1:
            return parts[0][0]
        X = np.concatenate([part.X for part, _ in parts])
        W = np.concatenate([part.W for part, _ in parts])
        L, end = np.zeros((len(X), len(X)), order="F"), 0
        for part, taken in parts:
            start, end = end, end + len(part)
            L[start:end, :start], L[start:end, start:end] = taken, part.L
        return cls(X, W, L)

    def whitened(self) -> Floats:
        """Return L⁻¹W: absorbing the rows subtracts (L⁻¹W)ᵀ(L⁻¹W) from M⁻¹."""
        return forward(self.L, self.W) if len(self) > 1 else self.W / self.L

    def innovation(self, residual: Floats) -> Floats:
        """Return L⁻¹(y − ŷ): the innovation of each label given those before it, in its own scale."""
        return forward(self.L, residual[:, None])[:, 0] if len(self) > 1 else residual / self.L[0]


class Absorbed(NamedTuple):
    """Rows and labels that entered a Gram matrix, with their normalised innovations and scales."""

    X: Floats
    y: Floats
    innovation: Floats
    innovation_scale: Floats


def cholesky_of_sum(G: Floats) -> Floats:
    """Return the lower Cholesky factor of I + G; G is overwritten."""
    G.flat[:: len(G) + 1] += 1.0
    # The transpose of a symmetric matrix in C order is in Fortran order: LAPACK then works in place.
    L, _ = blas.dpotrf(G.T, lower=1, overwrite_a=1)
    return np.asarray(L)


def shrink(array: Floats, factor: float) -> None:
    """Multiply in place and flush subnormal numbers to 0: they are slow and would never vanish."""
    array *= factor
    array[np.abs(array) < np.finfo(np.float64).tiny] = 0.0


def forward(L: Floats, right: Floats) -> Floats:
    """Return L⁻¹ `right` in C order."""
    return np.asarray(blas.dtrsm(1.0, L, right.T, side=1, lower=1, trans_a=1).T)
