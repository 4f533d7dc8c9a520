"""Block engine for small linear models in compiled loops, if numba works (`qufur[fast]`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.models.engines.base import BlockEngine
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.models.gram.posterior import Posterior
from qufur.models.gram.update import Absorbed, Update
from qufur.models.lookahead import BlockCost, QueryTerms

if TYPE_CHECKING:
    from qufur.models._least_squares_state import LeastSquaresState


_disabled = ContextVar("disabled", default=False)


def available() -> bool:
    """Return whether compiled loops are usable: numba imports and they are not `disabled`."""
    return not _disabled.get() and _works()


@contextmanager
def disabled() -> Iterator[None]:
    """Context manager without compiled loops: numba takes 100 MB and a second to start."""
    before = _disabled.set(True)
    try:
        yield
    finally:
        _disabled.reset(before)


@cache
def _works() -> bool:
    try:
        from qufur.models.engines import numba_loops  # noqa: F401
    except Exception:  # a broken numba may raise anything; the loops only save time
        return False
    return True


class CompiledEngine(BlockEngine):
    """Engine that decides row by row; each query subtracts z zᵀ from a copy of M⁻¹.

    z = M⁻¹x/√(1 + q). While M is in low-rank form, the loop works on the basis B instead, until it has
    `max_rows` rows. The state receives the copy at the end.

    Attributes
    ----------
    inverse
        M⁻¹ after the queries so far, both triangles, in Fortran order.
    Z
        The z of the queries so far.
    variance
        q of each decided row, given the queries before it.
    """

    first_block_size: ClassVar[int] = 1024
    largest_dim: ClassVar[int] = 256
    """Largest d of the compiled loops."""
    min_rows: ClassVar[int] = 16
    """Fewest rows of a block for the compiled loops."""

    inverse: Floats
    Z: Floats
    variance: Floats

    def __init__(self, state: LeastSquaresState, X: Floats) -> None:
        from qufur.models.engines import numba_loops

        super().__init__(state, X)
        self._gram = gram = cast(Gram, state.queried)
        self.Z, self.variance, self._query = X[:0], np.empty(0), np.empty(0, dtype=bool)
        self._low_rank = gram.form if isinstance(gram.form, LowRankGram) else None
        if isinstance(gram.form, InverseGram):
            # The upper triangle in Fortran order is the lower triangle in C order.
            self.inverse = numba_loops.symmetric(gram.form.up_to_date_inverse().T).T

    @classmethod
    def fits(cls, posterior: Posterior) -> bool:
        """Return whether M is small and in a form that the loops support."""
        if not isinstance(posterior, Gram) or posterior.sequential_only:
            return False
        return len(posterior.coef) <= cls.largest_dim and available()

    @classmethod
    def suits(cls, posterior: Posterior, X: Floats, squares: float) -> bool:
        """Return whether, in addition, there are enough rows and no variance can be huge."""
        if len(X) < cls.min_rows or not cls.fits(posterior):
            return False
        # No variance is above ‖x‖² times the norm of M⁻¹.
        gram = cast(Gram, posterior)
        max_square = cls.largest_variance / gram.norm_of_inverse
        return squares <= max_square or gram.largest_square(X) <= max_square

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Decide the rows in one loop; all rows cost the same."""
        from qufur.models.engines import numba_loops

        model, thresholds = self._state.model, np.ascontiguousarray(terms.thresholds.T)
        rows = self.X[len(self._query) : len(self._query) + len(thresholds)]
        limits = terms.labels_left, model.noise_scale, model.variance_cap
        start = 0
        if self._low_rank is not None:
            form = self._low_rank
            basis = np.concatenate([form.basis, math.sqrt(form.regularization) * self.Z])
            decided = numba_loops.decide_low_rank(
                basis, form.regularization, rows, thresholds, *limits, form.max_rows
            )
            start = self._record(terms, 0, *decided)
            if start < len(rows):
                self._low_rank = None
                self.inverse = form.inverse_with(self.Z)
        if start < len(rows):
            decided = numba_loops.decide(self.inverse.T, rows[start:], thresholds[start:], *limits)
            self._record(terms, start, *decided)
        bought = self._query.nonzero()[0]
        queries, self.queried = len(bought) - len(self.queried), bought
        self.uncertainty = model.uncertainty_of(self.variance)
        return BlockCost(len(rows), 0, queries)

    def _record(self, terms: QueryTerms, start: int, variance: Floats, charges: Bools, Z: Floats) -> int:
        """Record the results of a loop for the rows from `start`; return the end of these rows."""
        end = start + len(variance)
        terms.record_purchases(slice(start, end), charges.T)
        self._query = np.concatenate([self._query, charges.any(axis=1)])
        self.variance, self.Z = np.concatenate([self.variance, variance]), np.concatenate([self.Z, Z])
        return end

    def learn(self, y: Floats) -> Floats:
        """Predict and learn row by row."""
        from qufur.models.engines import numba_loops

        coef = self._gram.coef.copy()
        scores, innovation = numba_loops.learn(coef, self.X, self.Z, self.variance, self._query, y)
        if len(y):
            self._update_state(Absorbed(self.X[self.queried], y, innovation, self._innovation_scale()), coef)
        return np.asarray(scores)

    def _update_state(self, labels: Absorbed, coef: Floats) -> None:
        """Load M⁻¹, or the new rows of its low-rank form, into the state."""
        if self._low_rank is None:
            self._gram.invert()
            self._gram.load_from(labels, self.inverse, coef)
        else:
            self._gram.load_low_rank(labels, self.Z, coef)

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels: L from L Z = W and V = Z Xᵀ."""
        rows = self.X[self.queried]
        L = np.tril(rows @ self.Z.T, -1) + np.diag(self._innovation_scale())
        return Update(rows, L @ self.Z, np.asfortranarray(L))

    def _innovation_scale(self) -> Floats:
        return np.asarray(np.sqrt(1.0 + self.variance[self.queried]))
