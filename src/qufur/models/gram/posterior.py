"""Base classes of the forms of a Gram matrix and of views of a block, and the view under each form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, Union

import numpy as np

from qufur.arrays import Axes, Floats, Ints
from qufur.models.gram import blas
from qufur.models.gram.update import Update

if TYPE_CHECKING:
    from qufur.models.gram.gram import Gram
    from qufur.models.gram.kernel import KernelGram

Posterior = Union["Gram", "KernelGram"]
"""Least squares after some rows: variances and covariances from M, predictions from the labels."""


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
        """Return the update that adds these rows to M; `L` is the factor of I + their covariances."""

    @abstractmethod
    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        """Return the covariances of these rows with all later rows of the block.

        Entries for earlier rows are arbitrary. The caller may change the array.
        """


class LinearForm:
    """Form of M = λI + Σ x xᵀ with the least-squares solution θ̂ = M⁻¹ Σ x y.

    It is not an `ABC`: every step tests the class of the form, and `isinstance` is slower for an `ABC`.

    Attributes
    ----------
    coef
        θ̂, on the host.
    constant
        The last number of every row, or 1.
    """

    coef: Floats
    constant: float

    @abstractmethod
    def view(self, X: Floats) -> View:
        """Return a view of a block of rows under the current M."""

    @abstractmethod
    def solve(self, X: Floats) -> Floats:
        """Return X M⁻¹."""

    def variance(self, X: Floats) -> Floats:
        """Return xᵀ M⁻¹ x of each row."""
        return self.view(X).variance

    def score_one(self, x: Floats) -> float:
        """Return ⟨θ̂, x⟩."""
        return blas.ddot(self.coef, x)  # type: ignore[no-any-return]

    def solve_one(self, x: Floats) -> Floats:
        """Return M⁻¹x."""
        return self.solve(x)

    def posterior_one(self, x: Floats) -> tuple[float, Floats | None]:
        """Return xᵀ M⁻¹ x, and M⁻¹x if this form computes it."""
        solved = self.solve_one(x)
        variance = blas.ddot(solved, x)
        return variance if variance > 0.0 else 0.0, solved


class HostForm(LinearForm):
    """Form whose arrays are NumPy arrays."""

    axes: ClassVar[Axes]
    """Axes of `arrays`, for `check_shapes`."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the state."""

    @classmethod
    @abstractmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], constant: float = 1.0) -> Self:
        """Return the form stored in `arrays`."""

    def copy(self) -> Self:
        """Return an independent copy."""
        arrays = {name: array.copy(order="K") for name, array in self.arrays().items()}
        return self.restored(arrays, self.constant)


class LinearView(View):
    """View of a block of rows on the host; a subclass computes X M⁻¹ from the arrays of one form."""

    def __init__(self, form: LinearForm, X: Floats) -> None:
        self._form, self.X = form, X

    @abstractmethod
    def solved(self, rows: Ints) -> Floats:
        """Return M⁻¹x of some rows."""

    def scores(self) -> Floats:
        return np.asarray(self.X @ self._form.coef)

    def update(self, rows: Ints, L: Floats) -> Update:
        return Update(self.X[rows], self.solved(rows), L)

    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        K = np.zeros((len(rows), len(self.X)))
        size = max(64, len(self.X) // 8)
        for start in range(0, len(self.X), size):
            piece = slice(start, start + size)
            before = rows.searchsorted(piece.stop)  # the other queries come after this piece
            K[:before, piece] = queries.W[:before] @ self.X[piece].T
        return K


class ByHalves(LinearView):
    """View that computes with T, the upper triangle of M⁻¹ with half its diagonal: M⁻¹ = T + Tᵀ.

    With Y = XT, X M⁻¹ Xᵀ = Y Xᵀ + X Yᵀ: d² flops per row, and d² more for M⁻¹x = Y + X Tᵀ.
    """

    def __init__(self, form: LinearForm, X: Floats, inverse: Floats) -> None:
        super().__init__(form, X)
        self._inverse = inverse
        self._Y = blas.dtrmm(1.0, inverse, X.T, trans_a=1).T
        self._Y -= X * (inverse.diagonal() / 2)
        self.variance = np.maximum(2.0 * _products(self._Y, X), 0.0)

    def among(self, rows: Ints) -> Floats:
        half = self._Y[rows] @ self.X[rows].T
        return np.asarray(half + half.T)

    def solved(self, rows: Ints) -> Floats:
        X = self.X[rows]
        solutions = blas.dtrmm(1.0, self._inverse, X.T).T
        solutions -= X * (self._inverse.diagonal() / 2)
        solutions += self._Y[rows]
        return np.asarray(solutions)


class ByBasis(LinearView):
    """With M⁻¹ = (I − BᵀB)/λ and V = X Bᵀ, X M⁻¹ Xᵀ = (X Xᵀ − V Vᵀ)/λ, and X M⁻¹ = (X − V B)/λ."""

    def __init__(self, form: LinearForm, X: Floats, basis: Floats, regularization: float) -> None:
        super().__init__(form, X)
        self._basis, self._regularization = basis, regularization
        self._V = V = X @ basis.T
        self.variance = np.maximum(_products(X, X) - _products(V, V), 0.0) / regularization

    def among(self, rows: Ints) -> Floats:
        X, V = self.X[rows], self._V[rows]
        return np.asarray((X @ X.T - V @ V.T) / self._regularization)

    def solved(self, rows: Ints) -> Floats:
        return np.asarray((self.X[rows] - self._V[rows] @ self._basis) / self._regularization)


class ByFactor(LinearView):
    """With M = RᵀR and V = R⁻ᵀXᵀ, X M⁻¹ Xᵀ = VᵀV, and X M⁻¹ = (R⁻¹V)ᵀ."""

    def __init__(self, form: LinearForm, X: Floats, R: Floats) -> None:
        super().__init__(form, X)
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
