"""Directions drawn on unit spheres, and the subspaces of R^d they are carried into.

What is drawn must not depend on how a stream is cut into chunks, to the last bit. Matrix products would: the
rounding of a row in BLAS changes with the rows beside it. Elementwise operations and sums along a row do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from qufur.arrays import Bools, Floats, Ints

ROWS_AT_ONCE = 32
"""So few that their sums stay in the cache while axes are added."""


def unit_vectors(coordinates: Bools, rng: np.random.Generator) -> Floats:
    """Draw a uniform unit vector for each row, in the coordinates marked there, zero in the others.

    >>> unit_vectors(np.array([[True, False], [True, True]]), np.random.default_rng(0)).round(2)
    array([[ 1. ,  0. ],
           [-0.2 ,  0.98]])
    """
    Z = np.zeros(coordinates.shape)
    Z[coordinates] = rng.standard_normal(np.count_nonzero(coordinates))
    Z /= np.sqrt((Z * Z).sum(axis=1, keepdims=True))
    return Z


class Subspaces(ABC):
    """One subspace x = V_u z of R^dim per domain; z is padded with zeros to the largest d_u.

    Parameters
    ----------
    dims
        d_u, one per domain.
    dim
        d, the dimension they are carried into.
    """

    def __init__(self, dims: tuple[int, ...], dim: int) -> None:
        self.dim = dim
        self.coordinates: Bools = np.arange(max(dims)) < np.array(dims)[:, None]

    @abstractmethod
    def embed(self, Z: Floats, domain: Ints) -> Floats:
        """Return V_u z for each row."""

    @abstractmethod
    def coefficients(self, theta: Floats) -> Floats:
        """Return V_uᵀ θ for each domain: with it ⟨θ, x⟩ is a short sum over z."""


class Blocks(Subspaces):
    """Orthogonal blocks of coordinates, side by side."""

    def __init__(self, dims: tuple[int, ...]) -> None:
        super().__init__(dims, sum(dims))
        self._first = np.cumsum(dims) - dims

    def embed(self, Z: Floats, domain: Ints) -> Floats:
        """Write each z into the block of its domain."""
        rows, k = np.nonzero(self.coordinates[domain])
        X = np.zeros((len(Z), self.dim))
        X[rows, self._first[domain[rows]] + k] = Z[rows, k]
        return X

    def coefficients(self, theta: Floats) -> Floats:
        """Cut θ into blocks."""
        blocks = np.zeros(self.coordinates.shape)
        blocks[self.coordinates] = theta
        return blocks


class Spans(Subspaces):
    """Random subspaces, independent and hence overlapping: V_u is the Q factor of a Gaussian matrix."""

    def __init__(self, dims: tuple[int, ...], dim: int, rng: np.random.Generator) -> None:
        super().__init__(dims, dim)
        self._axes = np.zeros((max(dims), len(dims), dim))
        for u, d_u in enumerate(dims):
            self._axes[:d_u, u] = np.linalg.qr(rng.standard_normal((dim, d_u))).Q.T

    def embed(self, Z: Floats, domain: Ints) -> Floats:
        """Add up the axes of each row's subspace, z_k times axis k."""
        X = np.zeros((len(Z), self.dim))
        for u, d_u in enumerate(self.coordinates.sum(axis=1)):
            mine = np.flatnonzero(domain == u)
            for rows in np.split(mine, range(ROWS_AT_ONCE, len(mine), ROWS_AT_ONCE)):
                part = np.zeros((len(rows), self.dim))
                for z, axis in zip(Z[rows, :d_u].T, self._axes[:, u], strict=False):
                    part += z[:, None] * axis
                X[rows] = part
        return X

    def coefficients(self, theta: Floats) -> Floats:
        """Project θ on every axis."""
        coefficients: Floats = self._axes @ theta
        return coefficients.T
