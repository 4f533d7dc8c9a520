"""Gram matrices of the same inputs under several weights: a classifier's Fisher information, by class."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from qufur.arrays import Floats
from qufur.models.gram.gram import Gram
from qufur.models.gram.update import cholesky_of_sum, forward


class Information(Protocol):
    """F_k = λI + Σ_i w_ik x_i x_iᵀ for every class k, of inputs X (n × d) and weights w (n × classes)."""

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""


class InformationOfFew:
    """The dual form: with R the root of w_k on the diagonal, F_k⁻¹ = (I − XᵀR(λI + R XXᵀ R)⁻¹RX)/λ.

    One product X Xᵀ serves all classes: n²d + classes · n³/3 flops.
    """

    worst_condition = 1e8

    def __init__(self, X: Floats, weights: Floats, regularization: float) -> None:
        self._X, self._regularization = X, regularization
        self._roots = np.sqrt(weights.T / regularization)[:, :, None]
        gram = X @ X.T
        self._factors = [cholesky_of_sum(gram * root * root.T) for root in self._roots]

    @classmethod
    def suits(cls, X: Floats, regularization: float) -> bool:
        """Whether this form is the cheaper one, and loses no digits that matter."""
        return 0 < len(X) <= X.shape[1] and float(np.vdot(X, X)) < cls.worst_condition * regularization

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""
        K = self._X @ Z.T
        halves = [forward(L, root * K) for L, root in zip(self._factors, self._roots, strict=True)]
        taken = np.array([np.einsum("ij,ij->j", V, V) for V in halves]).T
        rest = np.einsum("ij,ij->i", Z, Z)[:, None] - taken
        return np.asarray(np.maximum(rest, 0.0) / self._regularization)


class InformationOfMany:
    """One `Gram` per class, which minds its own digits."""

    def __init__(self, X: Floats, weights: Floats, regularization: float) -> None:
        self._grams = [Gram(X.shape[1], regularization) for _ in weights.T]
        for gram, weight in zip(self._grams, weights.T, strict=True):
            gram.add(X * np.sqrt(weight)[:, None])

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""
        return np.stack([gram.variance(Z) for gram in self._grams], axis=1)
