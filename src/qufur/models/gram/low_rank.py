"""Low-rank form of the Gram matrix, for few rows in many columns."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Axes, Floats
from qufur.models.gram import blas
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.posterior import ByBasis, HostForm
from qufur.models.gram.update import Update, cholesky_of_sum, forward, shrink


class LowRankGram(HostForm):
    """M = λI + XᵀX of k rows through M⁻¹ = (I − BᵀB)/λ, with B of k rows too.

    This is the dual form of ridge regression: with L the Cholesky factor of XXᵀ + λI, B = L⁻¹X. A row's
    variance costs 2kd flops, so while k < d/2 it is faster than any form that reads all of M⁻¹, and a little
    longer, since changing the form costs time. `constant` is the last number of every row, or 1.
    """

    max_condition = 1e8
    negligible = 1e-20  # ‖x‖²/λ below which a discounted row is dropped
    axes: ClassVar[Axes] = {"rows": "kd", "basis": "kd", "moment": "d", "coef": "d", "regularization": (1,)}

    def __init__(self, dim: int, regularization: float, constant: float = 1.0) -> None:
        self.regularization = regularization
        self.constant = constant
        self.moment = np.zeros(dim)
        self.coef = np.zeros(dim)
        self._rows = np.empty((0, dim))
        self._basis = np.empty((0, dim))
        self._count = 0
        self._squares = 0.0

    @property
    def rows(self) -> Floats:
        """Rows X absorbed so far."""
        return self._rows[: self._count]

    @property
    def basis(self) -> Floats:
        """Rows of B so far, one per row of X."""
        return self._basis[: self._count]

    @property
    def max_rows(self) -> int:
        """Number of rows from which the inverse is cheaper."""
        return math.ceil(0.6 * len(self.coef))

    def risk(self, squares: float) -> float:
        """Return a bound on the condition number of M after rows with this Σ‖x‖² (constant counted as 1)."""
        return 1.0 + (self._squares + squares * self.constant**2) / self.regularization

    def view(self, X: Floats) -> ByBasis:
        """Return a view of a block of rows under the current M."""
        return ByBasis(self, X, self.basis, self.regularization)

    def solve(self, X: Floats) -> Floats:
        """Return X M⁻¹, for rows X or one row."""
        basis = self.basis
        return np.asarray((X - (X @ basis.T) @ basis) / self.regularization)

    def absorb(self, rows: Update, y: Floats) -> tuple[Floats, Floats]:
        """Add rows with labels y; return the normalised innovations and their scales."""
        Z = rows.whitened()
        innovation = rows.innovation(y - rows.X @ self.coef)
        self.load_from(rows.X, y, Z, self.coef + innovation @ Z)
        return innovation, rows.L.diagonal()

    def load_from(self, X: Floats, y: Floats, Z: Floats, coef: Floats) -> None:
        """Add rows with labels y that subtract ZᵀZ from M⁻¹ and change θ̂ to `coef`."""
        self.moment += y @ X
        self.coef = coef
        self._append(X, math.sqrt(self.regularization) * Z)

    def spectrum(self) -> tuple[Floats, Floats]:
        """Return the eigenvalues of M above λ, and the squares of Σ x y along their vectors."""
        _, s, vectors = np.linalg.svd(self.rows, full_matrices=False)
        return s**2 + self.regularization, (vectors @ self.moment) ** 2

    def discount(self, factor: float, regularization: float) -> None:
        """Set M to γM + (1 − γ)λI: scale rows by √γ and drop those that are negligible.

        With the new M and B, θ̂ becomes θ̂ − (1 − γ)λ M⁻¹θ̂ = γθ̂ + (1 − γ)BᵀBθ̂: no large differences.
        """
        rows = math.sqrt(factor) * self.rows
        self._rows = rows[np.einsum("ij,ij->i", rows, rows) > self.negligible * regularization]
        self._count, self._squares = len(self._rows), float(np.vdot(self._rows, self._rows))
        L = cholesky_of_sum(self.rows @ self.rows.T / regularization)
        self._basis = forward(L, self.rows) / math.sqrt(regularization)
        projection = (self.basis @ self.coef) @ self.basis
        for array in (self.moment, self.coef):
            shrink(array, factor)
        self.coef += (1 - factor) * projection

    def inverse_with(self, Z: Floats) -> Floats:
        """Return M⁻¹ − ZᵀZ, both triangles."""
        basis = np.concatenate([self.basis / math.sqrt(self.regularization), Z])
        return np.asfortranarray(np.eye(len(self.coef)) / self.regularization - basis.T @ basis)

    def inverted(self) -> InverseGram:
        """Return the same matrix through its inverse."""
        gram = np.eye(len(self.coef), order="F")
        inverse = np.eye(len(self.coef), order="F")
        gram.flat[:: len(gram) + 1] *= self.regularization
        scale = 1 / self.regularization
        blas.dsyrk(-scale, self.basis.T, beta=scale, c=inverse, overwrite_c=1)
        form = InverseGram(gram, inverse, self.moment, self.coef, self.constant)
        form.add_to_gram(self.rows)
        if self.constant > 1:  # a small remainder of a large M⁻¹ is a difference with few digits
            form.refresh()
        return form

    def factored(self) -> FactorGram:
        """Return the same matrix as a factor, safe where this form is not."""
        R = np.sqrt(self.regularization) * np.eye(len(self.coef))
        return FactorGram.of(R, self.rows, self.moment, self.constant)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the state."""
        return {
            "rows": self.rows,
            "basis": self.basis,
            "moment": self.moment,
            "coef": self.coef,
            "regularization": np.array([self.regularization]),
        }

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], constant: float = 1.0) -> LowRankGram:
        """Return the form stored in `arrays`."""
        form = cls(len(arrays["coef"]), float(arrays["regularization"][0]), constant)
        form._rows, form._basis = arrays["rows"], arrays["basis"]
        form.moment, form.coef = arrays["moment"], arrays["coef"]
        form._count, form._squares = len(form._rows), float(np.vdot(form._rows, form._rows))
        return form

    def _append(self, X: Floats, B: Floats) -> None:
        end = self._count + len(X)
        if end > len(self._rows):  # doubling: rows are copied once on average
            # Unused memory costs nothing below 4 MB, where huge pages begin.
            room = max(2 * end, min(X.shape[1], (2**19 - 1) // X.shape[1]))
            self._rows, self._basis = (self._grown(old, room) for old in (self.rows, self.basis))
        self._rows[self._count : end] = X
        self._basis[self._count : end] = B
        self._count = end
        self._squares += float(np.vdot(X, X))

    def _grown(self, old: Floats, room: int) -> Floats:
        new = np.empty((room, old.shape[1]))
        new[: len(old)] = old
        return new
