"""Rows as each form of a Gram matrix sees them: half of the work of X M⁻¹ shows most of what it does."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.gram import blas


class Covariances(ABC):
    """The covariances x M⁻¹ x'ᵀ of rows X, of which few or many will be looked into, and fewer absorbed.

    Attributes
    ----------
    variance
        q = ‖x‖² in M⁻¹ of each row.
    """

    variance: Floats

    @abstractmethod
    def among(self, rows: Ints) -> Floats:
        """Return the covariances of some rows among themselves."""

    @abstractmethod
    def solved(self, rows: Ints) -> Floats:
        """Return M⁻¹x of some rows."""


class ByHalves(Covariances):
    """Let T be the upper triangle of M⁻¹ with half its diagonal, so that M⁻¹ = T + Tᵀ.

    With Y = XT, X M⁻¹ Xᵀ = Y Xᵀ + X Yᵀ: d² flops per row, and d² more where M⁻¹x = Y + X Tᵀ is wanted.
    """

    def __init__(self, inverse: Floats, X: Floats) -> None:
        self._inverse, self._X = inverse, X
        self._Y = blas.dtrmm(1.0, inverse, X.T, trans_a=1).T
        self._Y -= X * (inverse.diagonal() / 2)
        self.variance = np.maximum(2.0 * _products(self._Y, X), 0.0)

    def among(self, rows: Ints) -> Floats:
        half = self._Y[rows] @ self._X[rows].T
        return np.asarray(half + half.T)

    def solved(self, rows: Ints) -> Floats:
        X = self._X[rows]
        other = blas.dtrmm(1.0, self._inverse, X.T).T
        other -= X * (self._inverse.diagonal() / 2)
        other += self._Y[rows]
        return np.asarray(other)


class ByBasis(Covariances):
    """With M⁻¹ = (I − BᵀB)/λ and V = X Bᵀ, X M⁻¹ Xᵀ = (X Xᵀ − V Vᵀ)/λ, and X M⁻¹ = (X − V B)/λ."""

    def __init__(self, basis: Floats, regularization: float, X: Floats) -> None:
        self._basis, self._regularization, self._X = basis, regularization, X
        self._V = V = X @ basis.T
        self.variance = np.maximum(_products(X, X) - _products(V, V), 0.0) / regularization

    def among(self, rows: Ints) -> Floats:
        X, V = self._X[rows], self._V[rows]
        return np.asarray((X @ X.T - V @ V.T) / self._regularization)

    def solved(self, rows: Ints) -> Floats:
        return np.asarray((self._X[rows] - self._V[rows] @ self._basis) / self._regularization)


class ByFactor(Covariances):
    """With M = RᵀR and V = R⁻ᵀXᵀ, X M⁻¹ Xᵀ = VᵀV, and X M⁻¹ = (R⁻¹V)ᵀ."""

    def __init__(self, R: Floats, X: Floats) -> None:
        self._R = R
        self._V = V = blas.dtrsm(1.0, R, X.T, trans_a=1)
        self.variance = np.einsum("ij,ij->j", V, V)

    def among(self, rows: Ints) -> Floats:
        V = self._V[:, rows]
        return np.asarray(V.T @ V)

    def solved(self, rows: Ints) -> Floats:
        return np.asarray(blas.dtrsm(1.0, self._R, self._V[:, rows]).T)


def _products(A: Floats, B: Floats) -> Floats:
    """Return the product of each row of A with its row of B; `einsum` takes three times as long."""
    return np.asarray((A[:, None, :] @ B[:, :, None])[:, 0, 0])
