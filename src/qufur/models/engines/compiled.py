"""Small linear models in compiled loops, where numba works (`qufur[fast]`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.models.engines.base import BlockEngine
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.models.gram.posterior import Posterior
from qufur.models.gram.update import Absorbed, Update
from qufur.models.lookahead import Effort, Terms

if TYPE_CHECKING:
    from qufur.models.least_squares_state import LeastSquaresState


_left_out = ContextVar("left_out", default=False)


def available() -> bool:
    """Return whether loops can be compiled: numba is there, and not broken or of the wrong version."""
    return not _left_out.get() and _works()


@contextmanager
def left_out() -> Iterator[None]:
    """Do without: numba alone takes 100 MB, and a second to start."""
    before = _left_out.set(True)
    try:
        yield
    finally:
        _left_out.reset(before)


@cache
def _works() -> bool:
    try:
        from qufur.models.engines import numba_loops  # noqa: F401
    except Exception:  # whatever is wrong with it, the loops are a speed-up only
        return False
    return True


class CompiledEngine(BlockEngine):
    """Rows meet M⁻¹ one after the other; each that is queried takes z zᵀ off a copy of it.

    z = M⁻¹x/√(1 + q). While M is young, rows meet the few rows that make up its M⁻¹ instead, until those have
    become many. The state is given the copy at the end.

    Attributes
    ----------
    inverse
        M⁻¹ after the queries so far, the upper triangle in the order of BLAS.
    Z
        The z of the queries so far.
    variance
        q of each row that was decided, given the queries before it.
    """

    first_block_size: ClassVar[int] = 1024
    largest_dim: ClassVar[int] = 256
    fewest_rows: ClassVar[int] = 16

    inverse: Floats
    Z: Floats
    variance: Floats

    def __init__(self, state: LeastSquaresState, X: Floats) -> None:
        from qufur.models.engines import numba_loops

        super().__init__(state, X)
        self._gram = gram = cast(Gram, state.queried)
        self.Z, self.variance, self._query = X[:0], np.empty(0), np.empty(0, dtype=bool)
        self._young = gram.form if isinstance(gram.form, LowRankGram) else None
        if isinstance(gram.form, InverseGram):
            # The upper triangle in the order of BLAS is the lower one in that of C.
            self.inverse = numba_loops.whole(gram.form.up_to_date_inverse().T).T

    @classmethod
    def fits(cls, posterior: Posterior) -> bool:
        """Return whether M is small and in a form for which there are loops."""
        if not isinstance(posterior, Gram) or posterior.sequential_only:
            return False
        return len(posterior.coef) <= cls.largest_dim and available()

    @classmethod
    def suits(cls, posterior: Posterior, X: Floats, squares: float) -> bool:
        """Return whether, besides, there are enough rows, and none whose variance may be huge."""
        if len(X) < cls.fewest_rows or not cls.fits(posterior):
            return False
        # No variance is above ‖x‖² times the norm of M⁻¹.
        gram = cast(Gram, posterior)
        most = cls.largest_variance / gram.norm_of_inverse
        return squares <= most or gram.largest_square(X) <= most

    def decide(self, terms: Terms) -> Effort:
        """Decide rows in one go; none costs more than the others."""
        from qufur.models.engines import numba_loops

        model, thresholds = self._state.model, np.ascontiguousarray(terms.thresholds.T)
        rows = self.X[len(self._query) : len(self._query) + len(thresholds)]
        limits = terms.labels_left, model.noise_scale, model.variance_cap
        at = 0
        if self._young is not None:
            form = self._young
            basis = np.concatenate([form.basis, math.sqrt(form.regularization) * self.Z])
            found = numba_loops.decide_young(
                basis, form.regularization, rows, thresholds, *limits, form.most_rows
            )
            at = self._take(terms, 0, *found)
            if at < len(rows):
                self._young = None
                self.inverse = form.inverse_with(self.Z)
        if at < len(rows):
            self._take(terms, at, *numba_loops.decide(self.inverse.T, rows[at:], thresholds[at:], *limits))
        bought = self._query.nonzero()[0]
        queries, self.queried = len(bought) - len(self.queried), bought
        self.uncertainty = model.uncertainty_of(self.variance)
        return Effort(len(rows), 0, queries)

    def _take(self, terms: Terms, at: int, variance: Floats, charges: Bools, Z: Floats) -> int:
        """Take over what a loop found about rows from `at` on; return up to where."""
        end = at + len(variance)
        terms.record_purchases(slice(at, end), charges.T)
        self._query = _joined(self._query, charges.any(axis=1))
        self.variance, self.Z = _joined(self.variance, variance), _joined(self.Z, Z)
        return end

    def learn(self, y: Floats) -> Floats:
        """Predict and learn row by row."""
        from qufur.models.engines import numba_loops

        coef = self._gram.coef.copy()
        scores, innovation = numba_loops.learn(coef, self.X, self.Z, self.variance, self._query, y)
        if len(y):
            self._give_back(Absorbed(self.X[self.queried], y, innovation, self._innovation_scale()), coef)
        return np.asarray(scores)

    def _give_back(self, labels: Absorbed, coef: Floats) -> None:
        """Let the state have the rows that were added to a young M⁻¹, or M⁻¹ itself."""
        if self._young is None:
            self._gram.invert()
            self._gram.take_over(labels, self.inverse, coef)
        else:
            self._gram.grow(labels, self.Z, coef)

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels: L from L Z = W and V = Z Xᵀ."""
        rows = self.X[self.queried]
        L = np.tril(rows @ self.Z.T, -1) + np.diag(self._innovation_scale())
        return Update(rows, L @ self.Z, np.asfortranarray(L))

    def _innovation_scale(self) -> Floats:
        return np.asarray(np.sqrt(1.0 + self.variance[self.queried]))


def _joined(some: Any, more: Any) -> Any:
    return np.concatenate([some, more]) if len(some) else more
