"""Interfaces of posteriors and block views, and the covariances of rows under each form of a Gram matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.misfit import MisfitTests
from qufur.models.gram import blas
from qufur.models.gram.update import Update


class View(ABC):
    """View of a block of rows under a posterior; intermediate results are stored until the end of the block.

    Attributes
    ----------
    X, variance
        The rows, and q = ‖x‖² in M⁻¹ of each.
    """

    X: Floats
    variance: Floats

    @abstractmethod
    def scores(self) -> Floats:
        """Return the prediction of each row."""

    @abstractmethod
    def among(self, rows: Ints) -> Floats:
        """Return the covariances of some rows among themselves, in an array that the caller may change."""

    @abstractmethod
    def update(self, rows: Ints, L: Floats) -> Update:
        """Return some rows, ready to be absorbed."""

    @abstractmethod
    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        """Return the covariances of these rows with all later rows of the block.

        Entries for earlier rows are arbitrary. The caller may change the array.
        """


class Posterior(Protocol):
    """Least squares after some rows: variances and covariances from M, predictions from the labels."""

    @property
    def sequential_only(self) -> bool:
        """Whether rows must enter one by one, because differences of large numbers would lose precision."""

    def variance(self, X: Floats) -> Floats:
        """Return q = ‖x‖² in M⁻¹ of each row."""

    def scores(self, X: Floats) -> Floats:
        """Return the prediction of each row."""

    def scorer(self) -> Callable[[Floats], Floats]:
        """Return a function that scores with a copy of the current posterior."""

    def score_one(self, x: Floats) -> float:
        """Return the prediction of one row."""

    def posterior_one(self, x: Floats) -> tuple[float, Floats | None]:
        """Return q of one row, and M⁻¹x if this form computes it."""

    def view(self, X: Floats) -> View:
        """Return a view of a block of rows under the current posterior."""

    def squares(self, X: Floats) -> float:
        """Return Σ‖x‖² of some rows, for `prepare_for`."""

    def prepare_for(self, squares: float) -> None:
        """Prepare for absorbing rows with Σ‖x‖² = `squares`."""

    def update(self, X: Floats) -> Update:
        """Prepare rows for `absorb`; memory grows with the square of their number."""

    def covariance(self, rows: Update, X: Floats) -> Floats:
        """Return the covariances of rows about to be absorbed with those of X."""

    def absorb(self, rows: Update, y: Floats | None = None) -> Floats:
        """Add rows with labels y, or unlabelled rows to M alone.

        Returns the normalised innovation of each label.
        """

    def add(self, X: Floats, y: Floats | None = None) -> None:
        """Add rows without a look-ahead."""

    def evidence(self, regularization: float) -> Evidence:
        """Return the evidence of the labels about noise and λ; `regularization` is the λ in M."""

    def tested(self) -> MisfitTests:
        """Return the tests of the labels' errors."""

    def copy(self) -> Any:
        """Return an independent copy."""

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the posterior."""


class Covariances(ABC):
    """Covariances x M⁻¹ x'ᵀ of rows X, computed on demand for candidates and queries.

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
    """Covariances from T, the upper triangle of M⁻¹ with half its diagonal: M⁻¹ = T + Tᵀ.

    With Y = XT, X M⁻¹ Xᵀ = Y Xᵀ + X Yᵀ: d² flops per row, and d² more for M⁻¹x = Y + X Tᵀ.
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
        solutions = blas.dtrmm(1.0, self._inverse, X.T).T
        solutions -= X * (self._inverse.diagonal() / 2)
        solutions += self._Y[rows]
        return np.asarray(solutions)


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
