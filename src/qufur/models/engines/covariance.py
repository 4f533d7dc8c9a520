"""Exact block look-ahead of least squares: matrix products per block, one update at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.engines import compiled
from qufur.models.engines.base import BlockEngine
from qufur.models.gram import blas
from qufur.models.gram.update import Update, forward
from qufur.models.lookahead import BlockCost, QueryTerms

if TYPE_CHECKING:
    from qufur.models._least_squares_state import LeastSquaresState


class CovarianceEngine(BlockEngine):
    """Engine that decides a block of rows X from M at the block's start, for linear and kernel models.

    K has the covariances a M⁻¹ xᵀ of the queries a with the rows x, and L is the Cholesky factor of I + K
    among the queries. Each row of V = L⁻¹K is the reduction by one query: after the first k queries, the
    variance of x is q − Σ_{j≤k} V_jx², and a covariance is lower by Σ_{j≤k} V_ja V_jx.
    """

    max_dim_of_loop: ClassVar[int] = 512
    """Beyond it, importing numba takes longer than a compiled loop over the candidates saves in a second."""
    min_candidates_of_loop: ClassVar[int] = 16
    """Fewest candidates for the compiled loop."""

    def __init__(self, state: LeastSquaresState, X: Floats) -> None:
        view = state.queried.view(X)
        (huge,) = np.nonzero(view.variance > self.largest_variance)
        if len(huge):  # a block ends before a huge row, or consists of it
            view = state.queried.view(X[: max(1, int(huge[0]))])
        super().__init__(state, view.X)
        self._view = view
        self._variance = view.variance
        self.uncertainty = state.model.uncertainty_of(view.variance)
        self._queries: list[tuple[Update, Floats]] = []
        self._V = np.empty((0, len(view.X)))
        self._decided = 0

    def learn(self, y: Floats) -> Floats:
        """Predict with M at the block's start, and add the effect of each label on later rows."""
        scores = self._view.scores()
        if len(y):
            scores += self._state.labelled.absorb(self.update(), y) @ self._V
        return scores

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels."""
        return Update.joined(self._queries) if self._queries else Update.bare(self.X[:0])

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Decide the rows that would be queried if no other were: Δ only falls, so no other row can be."""
        lowest, start = terms.lowest_threshold, self._decided
        self._decided += len(lowest)
        indices = (self.uncertainty[start : self._decided] > lowest).nonzero()[0]
        queries = self._decide_candidates(start, indices, terms) if len(indices) else 0
        return BlockCost(len(lowest), len(indices), queries)

    def _decide_candidates(self, start: int, indices: Ints, terms: QueryTerms) -> int:
        """Decide candidates at these indices of `terms`, which begins at row `start`; return the queries."""
        rows = start + indices
        G, taken = self._view.among(rows), self._V[:, rows]
        if len(taken):
            G -= taken.T @ taken
        chosen, L = self._choose(G, indices, terms)
        if len(chosen):
            self._settle(rows[chosen], L)
        return len(chosen)

    def _choose(self, G: Floats, indices: Ints, terms: QueryTerms) -> tuple[Ints, Floats]:
        """Decide rows with covariances G, at these indices of `terms`, one after the other.

        Returns the queried rows among them, and L; only its lower triangle is meaningful.
        """
        worthwhile = len(G) >= self.min_candidates_of_loop and self.X.shape[1] <= self.max_dim_of_loop
        if worthwhile and compiled.available():
            return self._choose_in_loop(G, indices, terms)
        cholesky, model = SequentialCholesky(G), self._state.model
        lowest = terms.lowest_threshold[indices].tolist()
        for row, index in enumerate(indices.tolist()):
            uncertainty = model.uncertainty_of(cholesky.variance(row))
            if uncertainty > lowest[row]:
                cholesky.query(row)
                if terms.buy(index, uncertainty):
                    lowest = terms.lowest_threshold[indices].tolist()
        return cholesky.factor()

    def _choose_in_loop(self, G: Floats, indices: Ints, terms: QueryTerms) -> tuple[Ints, Floats]:
        from qufur.models.engines import numba_loops

        model, thresholds = self._state.model, np.ascontiguousarray(terms.thresholds[:, indices].T)
        charges, chosen, columns = numba_loops.choose(
            np.ascontiguousarray(G), thresholds, terms.labels_left, model.noise_scale, model.variance_cap
        )
        terms.record_purchases(indices, charges.T)
        return chosen, columns[:, chosen].T

    def _settle(self, queried: Ints, L: Floats) -> None:
        """Apply queries to the rest of the block: append their rows to V."""
        queries = self._view.update(queried, L)
        K = self._view.toward_later(queries, queried)
        taken = self._V[:, queried].T
        if len(self._V):
            K -= taken @ self._V
        V = forward(L, K)
        V[queried[:, None] >= np.arange(len(self.X))] = 0.0  # a query affects later rows only
        self._queries.append((queries, taken))
        self._V = np.concatenate([self._V, V]) if len(self._V) else V
        self.queried = np.concatenate([self.queried, queried])
        self._variance = np.maximum(self._variance - np.einsum("ij,ij->j", V, V), 0.0)
        self.uncertainty = self._state.model.uncertainty_of(self._variance)


class SequentialCholesky:
    """Cholesky factorisation of I + G over rows that are queried or skipped one after the other.

    A query of row i subtracts g gᵀ/(1 + g_i) from the covariances G, with g its column. This is a Cholesky
    factorisation of I + G without the rows that are not queried: columns g/√(1 + g_i) of the others are L.

    >>> cholesky = SequentialCholesky(np.array([[1.0, 1.0], [1.0, 1.0]]))
    >>> cholesky.query(0)
    >>> cholesky.variance(1)
    0.5
    """

    def __init__(self, G: Floats) -> None:
        # BLAS works in place on Fortran order only; the lower triangle of the symmetric G is kept up to date.
        self._G = np.asfortranarray(G)
        self._columns: list[Floats] = []
        self.chosen: list[int] = []

    def variance(self, row: int) -> float:
        """Return the variance of a row after the queries so far, all of them before it."""
        variance = self._G.item(row, row)
        return variance if variance > 0.0 else 0.0  # `max` is slower

    def query(self, row: int) -> None:
        """Add a row to the queries, and subtract its effect from the covariances of later rows."""
        # Above the diagonal the column is stale: those entries belong to rows already decided.
        column = self._G[:, row].copy()
        blas.dsyr(-1.0 / (1.0 + self.variance(row)), column, lower=1, a=self._G, overwrite_a=1)
        self._columns.append(column)
        self.chosen.append(row)

    def factor(self) -> tuple[Ints, Floats]:
        """Return the queried rows, and L; only its lower triangle is meaningful."""
        chosen = np.array(self.chosen, dtype=np.int64)
        columns = np.array(self._columns).reshape(len(chosen), len(self._G))[:, chosen]
        spread = np.sqrt(1.0 + np.maximum(columns.diagonal(), 0.0))
        columns /= spread[:, None]
        columns.flat[:: len(chosen) + 1] = spread
        return chosen, columns.T
