"""The look-ahead of a small linear model: rows meet a copy of M⁻¹ one after the other."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.models.engines.base import RidgeLook
from qufur.models.gram.gram import Gram
from qufur.models.gram.update import Absorbed, Update

if TYPE_CHECKING:
    from qufur.models.least_squares_state import RidgeState

FEWEST_ROWS = 16


class CopyLook(RidgeLook):
    """A block of rows of which each that is queried takes z zᵀ off a copy of M⁻¹, with z = M⁻¹x/√(1 + q).

    The state is given the copy at the end. Kinds differ in how they go from row to row.
    """

    inverse: Floats
    """M⁻¹ after the queries so far, the upper triangle in the order of BLAS."""
    Z: Floats
    """The z of the queries so far."""
    variance: Floats
    """q of each row that was decided, given the queries before it."""

    def __init__(self, state: RidgeState, gram: Gram, X: Floats) -> None:
        super().__init__(state, X)
        self.gram = gram
        self.Z, self.variance = X[:0], np.empty(0)

    @classmethod
    @abstractmethod
    def suits(cls, gram: Gram) -> bool:
        """Return whether this is the way to look ahead with an M of this kind and size."""

    @classmethod
    def pays(cls, gram: Gram, X: Floats, squares: float) -> bool:
        """Return whether it does the same as `BlockLook` on these rows, of this Σ‖x‖², and faster."""
        if len(X) < FEWEST_ROWS:
            return False
        # No variance is above ‖x‖² times the norm of M⁻¹; digits are lost where they are huge.
        most = cls.largest_variance / gram.norm_of_inverse
        return squares <= most or float(np.einsum("ij,ij->i", X, X).max()) <= most

    def give_back(self, y: Floats, surprise: Floats, coef: Floats) -> None:
        """Let the state have M⁻¹ and θ̂ as they are after the labels y of all queries."""
        if len(y):
            self.gram.take_over(self.absorbed(y, surprise), self.inverse, coef)

    def absorbed(self, y: Floats, surprise: Floats) -> Absorbed:
        """Return the queries and their labels."""
        return Absorbed(self.X[self.queried], y, surprise, self._spread())

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels: L from L Z = W and V = Z Xᵀ."""
        rows = self.X[self.queried]
        L = np.tril(rows @ self.Z.T, -1) + np.diag(self._spread())
        return Update(rows, L @ self.Z, np.asfortranarray(L))

    def _spread(self) -> Floats:
        return np.asarray(np.sqrt(1.0 + self.variance[self.queried]))
