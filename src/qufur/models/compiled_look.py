"""The look-ahead of a small linear model by compiled loops, where numba is installed (`qufur[fast]`)."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats
from qufur.models.gram import Gram
from qufur.models.inverse import InverseGram
from qufur.models.look import Terms
from qufur.models.ridge_look import RidgeLook
from qufur.models.update import Absorbed, Update

if TYPE_CHECKING:
    from qufur.models.ridge_state import RidgeState

LARGEST_DIM = 256
LARGEST_DIM_AT_ONCE = 128
FEWEST_ROWS = 16


@cache
def available() -> bool:
    """Return whether loops can be compiled."""
    return find_spec("numba") is not None


def suits(gram: Any) -> bool:
    """Return whether M is of a kind that compiled loops are made for, whatever its form."""
    return isinstance(gram, Gram) and len(gram.coef) <= LARGEST_DIM and available()


def pays(gram: Any, X: Floats) -> bool:
    """Return whether compiled loops do the same as `BlockLook` on these rows, and faster.

    They need M⁻¹ itself. Where that is small it is worth having from the start, whatever few rows there are.
    """
    if len(X) < FEWEST_ROWS or not suits(gram):
        return False
    if X.shape[1] <= LARGEST_DIM_AT_ONCE:
        gram.invert()
    if not isinstance(gram.form, InverseGram):
        return False
    # No variance is above ‖x‖² times the trace of M⁻¹; digits are lost where they are huge.
    return (
        float(np.einsum("ij,ij->i", X, X).max() * np.trace(gram.form.inverse)) <= RidgeLook.largest_variance
    )


class CompiledLook(RidgeLook):
    """A block of rows that meet a copy of M⁻¹ one after the other; the state is given it at the end."""

    def __init__(self, state: RidgeState, gram: Gram, X: Floats) -> None:
        from qufur.models import compiled

        super().__init__(state, X)
        self._gram = gram
        # The upper triangle in the order of BLAS is the lower one in that of C.
        self._inverse = compiled.whole(cast(InverseGram, gram.form).inverse.T)
        self._variance, self._query, self._Z = np.empty(0), np.empty(0, dtype=bool), X[:0]

    def decide(self, terms: Terms) -> int:
        """Decide rows in one go; none costs more than the others."""
        from qufur.models import compiled

        model, levels = self._state.model, np.ascontiguousarray(terms.levels.T)
        rows = self.X[len(self._query) : len(self._query) + len(levels)]
        variance, charges, Z = compiled.decide(
            self._inverse, rows, levels, terms.room, model.level, model.most
        )
        terms.charges[:] = charges.T
        self._query = _joined(self._query, charges.any(axis=1))
        self._variance, self._Z = _joined(self._variance, variance), _joined(self._Z, Z)
        self.queried = self._query.nonzero()[0]
        self.uncertainty = model.delta(self._variance)
        return 0

    def learn(self, y: Floats) -> Floats:
        """Predict and learn row by row."""
        from qufur.models import compiled

        coef = self._gram.coef.copy()
        scores, surprise = compiled.learn(coef, self.X, self._Z, self._variance, self._query, y)
        if len(y):
            done = Absorbed(self.X[self.queried], y, surprise, self._spread())
            self._gram.take_over(done, self._inverse.T, coef)
        return np.asarray(scores)

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels: L from L Z = W and V = Z Xᵀ."""
        rows = self.X[self.queried]
        L = np.tril(rows @ self._Z.T, -1) + np.diag(self._spread())
        return Update(rows, L @ self._Z, np.asfortranarray(L))

    def _spread(self) -> Floats:
        return np.asarray(np.sqrt(1.0 + self._variance[self.queried]))


def _joined(some: Any, more: Any) -> Any:
    return np.concatenate([some, more]) if len(some) else more
