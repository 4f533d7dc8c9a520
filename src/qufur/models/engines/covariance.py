"""The exact block look-ahead of least squares: matrix products now, one update at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.engines import compiled
from qufur.models.engines.base import BlockEngine
from qufur.models.gram import blas
from qufur.models.gram.update import Update, forward
from qufur.models.lookahead import Effort, Terms

if TYPE_CHECKING:
    from qufur.models.least_squares_state import LeastSquaresState


class CovarianceEngine(BlockEngine):
    """A block of rows X seen from M at the block's start, in a linear or a kernel model.

    Let K be the covariances a M⁻¹ xᵀ of the queries a with the rows x, and L the Cholesky factor of I + K
    among the queries. The rows of V = L⁻¹K are what each query, one after the other, takes off: with the
    first k of them absorbed, the variance of x is q − Σ_{j≤k} V_jx². A covariance falls by Σ_{j≤k} V_ja V_jx.
    """

    largest_dim_of_loop: ClassVar[int] = 512
    """Beyond it, numba takes longer to import than a compiled loop over the candidates saves in a second."""
    fewest_rows_of_loop: ClassVar[int] = 16

    def __init__(self, state: LeastSquaresState, X: Floats) -> None:
        view = state.queried.view(X)
        (huge,) = np.nonzero(view.variance > self.largest_variance)
        if len(huge):  # a huge row is the last of its block, or the only one
            view = state.queried.view(X[: max(1, int(huge[0]))])
        super().__init__(state, view.X)
        self._view = view
        self._variance = view.variance
        self.uncertainty = state.model.uncertainty_of(view.variance)
        self._queries: list[tuple[Update, Floats]] = []
        self._V = np.empty((0, len(view.X)))
        self._decided = 0

    def learn(self, y: Floats) -> Floats:
        """Predict by M at the block's start, and add what each label changes for the rows after it."""
        scores = self._view.scores()
        if len(y):
            scores += self._state.labelled.absorb(self.update(), y) @ self._V
        return scores

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels."""
        return Update.joined(self._queries) if self._queries else Update.bare(self.X[:0])

    def decide(self, terms: Terms) -> Effort:
        """Go through the rows that would be queried if no other were: Δ only falls, so no other row is."""
        lowest, start = terms.lowest_threshold, self._decided
        self._decided += len(lowest)
        places = (self.uncertainty[start : self._decided] > lowest).nonzero()[0]
        queries = self._go_through(start, places, terms) if len(places) else 0
        return Effort(len(lowest), len(places), queries)

    def _go_through(self, start: int, places: Ints, terms: Terms) -> int:
        """Decide candidates at these places of the terms, which begin at such a row; return the queries."""
        rows = start + places
        G, taken = self._view.among(rows), self._V[:, rows]
        if len(taken):
            G -= taken.T @ taken
        chosen, L = self._choose(G, places, terms)
        if len(chosen):
            self._settle(rows[chosen], L)
        return len(chosen)

    def _choose(self, G: Floats, places: Ints, terms: Terms) -> tuple[Ints, Floats]:
        """Let rows of covariances G, at these places of the terms, be queried or not, one after the other.

        Returns which of them are queried, and L; only its lower triangle means anything.
        """
        if self._in_loop(len(places)):
            return self._choose_in_loop(G, places, terms)
        cholesky, model = SequentialCholesky(G), self._state.model
        lowest = terms.lowest_threshold[places].tolist()
        for turn, place in enumerate(places.tolist()):
            uncertainty = model.uncertainty_of(cholesky.variance(turn))
            if uncertainty > lowest[turn]:
                cholesky.query(turn)
                if terms.buy(place, uncertainty):
                    lowest = terms.lowest_threshold[places].tolist()
        return cholesky.factor()

    def _in_loop(self, candidates: int) -> bool:
        pays = candidates >= self.fewest_rows_of_loop and self.X.shape[1] <= self.largest_dim_of_loop
        return pays and compiled.available()

    def _choose_in_loop(self, G: Floats, places: Ints, terms: Terms) -> tuple[Ints, Floats]:
        from qufur.models.engines import numba_loops

        model, thresholds = self._state.model, np.ascontiguousarray(terms.thresholds[:, places].T)
        charges, chosen, columns = numba_loops.choose(
            np.ascontiguousarray(G), thresholds, terms.labels_left, model.noise_scale, model.variance_cap
        )
        terms.record_purchases(places, charges.T)
        return chosen, columns[:, chosen].T

    def _settle(self, queried: Ints, L: Floats) -> None:
        """Let the rest of the block know of queries: V grows by their rows."""
        queries = self._view.update(queried, L)
        K = self._view.toward_later(queries, queried)
        taken = self._V[:, queried].T
        if len(self._V):
            K -= taken @ self._V
        V = forward(L, K)
        V[queried[:, None] >= np.arange(len(self.X))] = 0.0  # a query comes after these
        self._queries.append((queries, taken))
        self._V = np.concatenate([self._V, V]) if len(self._V) else V
        self.queried = np.concatenate([self.queried, queried])
        self._variance = np.maximum(self._variance - np.einsum("ij,ij->j", V, V), 0.0)
        self.uncertainty = self._state.model.uncertainty_of(self._variance)


class SequentialCholesky:
    """Covariances G of some rows, of which the first are queried or not before the next has its turn.

    A query of row i takes g gᵀ/(1 + g_i) off G, with g its column. This is a Cholesky factorisation of
    I + G that leaves out the rows that are not queried: the columns g/√(1 + g_i) of the others are its L.

    >>> cholesky = SequentialCholesky(np.array([[1.0, 1.0], [1.0, 1.0]]))
    >>> cholesky.query(0)
    >>> cholesky.variance(1)
    0.5
    """

    def __init__(self, G: Floats) -> None:
        # BLAS works in place on its own order only; of a symmetric G, the lower triangle is kept up to date.
        self._G = np.asfortranarray(G)
        self._columns: list[Floats] = []
        self.chosen: list[int] = []

    def variance(self, place: int) -> float:
        """Return the variance of a row after the queries so far, all of them before it."""
        variance = self._G.item(place, place)
        return variance if variance > 0.0 else 0.0  # `max` takes longer

    def query(self, place: int) -> None:
        """Query a row."""
        # Above the diagonal the column is stale: what it changes there belongs to rows that had their turn.
        column = self._G[:, place].copy()
        blas.dsyr(-1.0 / (1.0 + self.variance(place)), column, lower=1, a=self._G, overwrite_a=1)
        self._columns.append(column)
        self.chosen.append(place)

    def factor(self) -> tuple[Ints, Floats]:
        """Return the rows queried, and L; only its lower triangle means anything."""
        chosen = np.array(self.chosen, dtype=np.int64)
        columns = np.array(self._columns).reshape(len(chosen), len(self._G))[:, chosen]
        spread = np.sqrt(1.0 + np.maximum(columns.diagonal(), 0.0))
        columns /= spread[:, None]
        columns.flat[:: len(chosen) + 1] = spread
        return chosen, columns.T
