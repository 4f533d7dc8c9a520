"""Cholesky form of the Gram matrix, numerically safe: a triangular factor under orthogonal updates."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Axes, Floats
from qufur.models.gram import blas
from qufur.models.gram.posterior import ByFactor, HostForm
from qufur.models.gram.update import Update, shrink


class FactorGram(HostForm):
    """M = RᵀR through R, with z = Qᵀy of the same transformations, so that θ̂ = R⁻¹z.

    A new row is rotated into R (QR of R on top of the rows), never multiplied out: the loss is a
    relative error of cond(R) = √cond(M), where every form that stores M or its inverse loses cond(M).
    An update costs several times more, so this form is used only for an ill-conditioned M.
    """

    axes: ClassVar[Axes] = {"R": "dd", "z": "d"}

    def __init__(self, R: Floats, z: Floats, constant: float = 1.0) -> None:
        self.R = np.asfortranarray(R)
        self.z = z
        self.constant = constant

    @classmethod
    def of(cls, R: Floats, rows: Floats, moment: Floats, constant: float) -> FactorGram:
        """Return M = RᵀR + Σ x xᵀ of some rows, with Σ x y = `moment`."""
        form = cls(R, np.zeros(len(R)), constant)
        form.rotate_in(rows)
        form.z = blas.dtrsv(form.R, moment, trans=1)
        return form

    @property
    def coef(self) -> Floats:  # type: ignore[override]
        """Least-squares solution θ̂ = R⁻¹z."""
        return np.asarray(blas.dtrsv(self.R, self.z))

    def view(self, X: Floats) -> ByFactor:
        """Return a view of a block of rows under the current M."""
        return ByFactor(self, X, self.R)

    def posterior_one(self, x: Floats) -> tuple[float, None]:
        """Return xᵀ M⁻¹ x, and None: this form does not compute M⁻¹x."""
        return self.variance(x[None]).item(), None

    def solve(self, X: Floats) -> Floats:
        """Return X M⁻¹."""
        half = np.asarray(blas.dtrsm(1.0, self.R, X.T, trans_a=1))
        return np.asarray(blas.dtrsm(1.0, self.R, half).T)

    def absorb(self, rows: Update, y: Floats) -> tuple[Floats, Floats]:
        """Add rows with labels y; return the normalised innovations and their scales.

        The rotation Qᵀ turns the labels into B(y − Xθ̂), where its corner B has BᵀB = (I + XM⁻¹Xᵀ)⁻¹.
        So B is L⁻¹ up to a rotation: the errors involve no difference of large numbers.
        """
        columns = np.eye(len(y), len(y) + 1, 1)
        columns[:, 0] = y
        left = self._rotate_in(rows.X, columns)
        if len(y) == 1:
            rest, corner = left.T
        else:
            Q, R = np.linalg.qr(left[:, :0:-1])
            rest, corner = (left[:, 0] @ Q)[::-1], R.diagonal()[::-1]
        innovation_scale = 1.0 / np.maximum(np.abs(corner), np.finfo(np.float64).eps)
        return np.copysign(rest, rest * corner), innovation_scale

    def spectrum(self) -> tuple[Floats, Floats]:
        """Return the eigenvalues of M, and the squares of Σ x y = Rᵀz along their vectors."""
        U, s, _ = np.linalg.svd(np.triu(self.R))
        return s**2, (s * (self.z @ U)) ** 2

    def without_constant(self) -> tuple[FactorGram, float]:
        """Return least squares with the constant projected out, and the constant's part of Σ y²."""
        Q, R = np.linalg.qr(np.roll(np.triu(self.R), 1, axis=1))
        z = self.z @ Q
        return FactorGram(R[1:, 1:], z[1:]), float(z[0] ** 2)

    def rotate_in(self, X: Floats) -> None:
        """Add rows with labels 0, without an `Update`."""
        if len(X):
            self._rotate_in(X, np.zeros((len(X), 1)))

    def _rotate_in(self, X: Floats, columns: Floats) -> Floats:
        """Add rows whose labels are the first of `columns`; return the rotated columns."""
        width = min(16, len(self.z))
        self.R, V, T, _ = blas.dtpqrt(0, width, self.R, X, overwrite_a=1)
        above = np.zeros((len(self.z), columns.shape[1]), order="F")
        above[:, 0] = self.z
        above, left, _ = blas.dtpmqrt(0, V, T, above, columns, trans="T")
        self.z = above[:, 0].copy()
        return np.asarray(left)

    def discount(self, factor: float, regularization: float) -> None:
        """Set M to γM + (1 − γ)λI: scale R by √γ and rotate √((1 − γ)λ) I in."""
        for array in (self.R, self.z):
            shrink(array, math.sqrt(factor))
        self.rotate_in(math.sqrt((1 - factor) * regularization) * np.eye(len(self.z)))

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the state."""
        return {"R": self.R, "z": self.z}

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], constant: float = 1.0) -> FactorGram:
        """Return the form stored in `arrays`."""
        return cls(arrays["R"], arrays["z"], constant)
