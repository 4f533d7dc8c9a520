"""The look-ahead of a small linear model by compiled loops, where numba works (`qufur[fast]`)."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.models.engines.copy_look import CopyLook
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.models.lookahead import Terms

if TYPE_CHECKING:
    from qufur.models.least_squares import LeastSquares
    from qufur.models.least_squares_state import RidgeState

LARGEST_DIM = 256
LARGEST_DIM_OF_TURNS = 512
"""Beyond it turns are a few percent of a run, and numba takes longer to import than it saves in a second."""
FEWEST_TURNS = 16


@cache
def available() -> bool:
    """Return whether loops can be compiled: numba is there, and not broken or of the wrong version."""
    try:
        from qufur.models.engines import numba_loops  # noqa: F401
    except Exception:  # whatever is wrong with it, the loops are a speed-up only
        return False
    return True


def takes_turns(rows: int, dim: int) -> bool:
    """Return whether so many rows of a block, of so many columns, take their turns in a compiled loop."""
    return rows >= FEWEST_TURNS and dim <= LARGEST_DIM_OF_TURNS and available()


def in_turns(G: Floats, places: Ints, terms: Terms, model: LeastSquares) -> tuple[Ints, Floats]:
    """Do what `turns.in_turns` does, compiled."""
    from qufur.models.engines import numba_loops

    thresholds = np.ascontiguousarray(terms.thresholds[:, places].T)
    charges, chosen, columns = numba_loops.take_turns(
        np.ascontiguousarray(G), thresholds, terms.labels_left, model.level, model.most
    )
    terms.record_purchases(places, charges.T)
    return chosen, columns[:, chosen].T


class CompiledLook(CopyLook):
    """A block of rows that meet M⁻¹ one after the other, in compiled loops.

    While M is young they meet the few rows that make up its M⁻¹, until those have become many.
    """

    @classmethod
    def suits(cls, gram: Gram) -> bool:
        """Return whether there are compiled loops for so small an M."""
        return len(gram.coef) <= LARGEST_DIM and not gram.is_delicate and available()

    def __init__(self, state: RidgeState, gram: Gram, X: Floats) -> None:
        from qufur.models.engines import numba_loops

        super().__init__(state, gram, X)
        self._query = np.empty(0, dtype=bool)
        self._young = gram.form if isinstance(gram.form, LowRankGram) else None
        if isinstance(gram.form, InverseGram):
            # The upper triangle in the order of BLAS is the lower one in that of C.
            self.inverse = numba_loops.whole(gram.form.inverse.T).T

    def decide(self, terms: Terms) -> int:
        """Decide rows in one go; none costs more than the others."""
        from qufur.models.engines import numba_loops

        model, thresholds = self._state.model, np.ascontiguousarray(terms.thresholds.T)
        rows = self.X[len(self._query) : len(self._query) + len(thresholds)]
        delta = terms.labels_left, model.level, model.most
        at = 0
        if self._young is not None:
            form = self._young
            basis = np.concatenate([form.basis, math.sqrt(form.regularization) * self.Z])
            found = numba_loops.decide_young(
                basis, form.regularization, rows, thresholds, *delta, form.most_rows
            )
            at = self._take(terms, 0, *found)
            if at < len(rows):
                self._young = None
                self.inverse = form.inverse_with(self.Z)
        if at < len(rows):
            self._take(terms, at, *numba_loops.decide(self.inverse.T, rows[at:], thresholds[at:], *delta))
        self.queried = self._query.nonzero()[0]
        self.uncertainty = model.delta(self.variance)
        return 0

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

        coef = self.gram.coef.copy()
        scores, surprise = numba_loops.learn(coef, self.X, self.Z, self.variance, self._query, y)
        self.give_back(y, surprise, coef)
        return np.asarray(scores)

    def give_back(self, y: Floats, surprise: Floats, coef: Floats) -> None:
        """Let the state have the rows that were added to a young M⁻¹, or M⁻¹ itself."""
        if self._young is None:
            self.gram.invert()
            super().give_back(y, surprise, coef)
        elif len(y):
            self.gram.grow(self.absorbed(y, surprise), self.Z, coef)


def _joined(some: Any, more: Any) -> Any:
    return np.concatenate([some, more]) if len(some) else more
