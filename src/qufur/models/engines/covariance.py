"""The exact block look-ahead of least squares: matrix products now, one update at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.engines import compiled
from qufur.models.engines.base import RidgeLook
from qufur.models.engines.turns import in_turns
from qufur.models.gram.posterior import View
from qufur.models.gram.update import Update, forward
from qufur.models.lookahead import Terms

if TYPE_CHECKING:
    from qufur.models.least_squares_state import RidgeState


class BlockLook(RidgeLook):
    """A block of rows X seen from M at the block's start, in a linear or a kernel model.

    Let K be the covariances a M⁻¹ xᵀ of the queries a with the rows x, and L the Cholesky factor of I + K
    among the queries. The rows of V = L⁻¹K are what each query, one after the other, takes off: with the
    first k of them absorbed, the variance of x is q − Σ_{j≤k} V_jx². A covariance falls by Σ_{j≤k} V_ja V_jx.
    """

    def __init__(self, state: RidgeState, view: View) -> None:
        super().__init__(state, view.X)
        self._view = view
        self._variance = view.variance
        self.uncertainty = state.model.delta(view.variance)
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

    def decide(self, terms: Terms) -> int:
        """Go through the rows that would be queried if no other were: Δ only falls, so no other row is."""
        thresholds, start = terms.lowest_threshold, self._decided
        self._decided += len(thresholds)
        places = (self.uncertainty[start : self._decided] > thresholds).nonzero()[0]
        if len(places):
            rows = start + places
            G, taken = self._view.among(rows), self._V[:, rows]
            if len(taken):
                G -= taken.T @ taken
            is_compiled = compiled.takes_turns(len(rows), self.X.shape[1])
            take_turns = compiled.in_turns if is_compiled else in_turns
            chosen, L = take_turns(G, places, terms, self._state.model)
            if len(chosen):
                self._settle(rows[chosen], L)
        return len(places)

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
        self.uncertainty = self._state.model.delta(self._variance)
