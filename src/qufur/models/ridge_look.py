"""The exact block look-ahead of the linear model: matrix products now, one update at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.models.base import Arrivals, Id, Lookahead
from qufur.models.gram import Gram, pieces
from qufur.models.update import Update, cholesky_of_sum, forward

if TYPE_CHECKING:
    from qufur.models.ridge_state import RidgeState


class RidgeLook(Lookahead):
    """A block of rows X seen from M at the block's start.

    Let K be the covariances a M⁻¹ xᵀ of the queries a with the rows x, and L the Cholesky factor of I + K
    among the queries. The rows of V = L⁻¹K are what each query, one after the other, takes off: with the
    first k of them absorbed, the variance of x is q − Σ_{j≤k} V_jx².
    """

    largest_variance = 1e6

    def __init__(self, state: RidgeState, X: Floats, variance: Floats) -> None:
        self._state = state
        self._X = X
        self._variance = variance
        self.uncertainty = state.model.delta(variance)
        self._queries = Update.bare(X[:0])

    def consider(self, rows: Ints) -> None:
        """Compute the covariances of the rows that may be queried, among themselves."""
        self._rows = rows
        self._candidates = self._X[rows]
        self._solved = self._state.queried.solve(self._candidates)
        self._among = self._solved @ self._candidates.T

    def given(self, chosen: Bools) -> Floats:
        """Return Δ of each considered row if the chosen ones among them are queried."""
        self._chosen = np.flatnonzero(chosen)
        K = self._among[self._chosen]
        self._L = cholesky_of_sum(K[:, self._chosen])
        return self._after(self._variance[self._rows], K, np.arange(len(chosen)))

    def settle(self) -> None:
        """Make the rows last chosen the block's queries."""
        X, W = self._candidates[self._chosen], self._solved[self._chosen]
        self._queries = Update(X, W, self._L)
        self._chosen = self._rows[self._chosen]
        self.uncertainty = self._after(self._variance, W @ self._X.T, np.arange(len(self._X)))

    def _after(self, variance: Floats, K: Floats, rows: Ints) -> Floats:
        V = forward(self._L, K)
        V[self._chosen[:, None] >= rows] = 0.0
        return self._state.model.delta(np.maximum(variance - np.einsum("ij,ij->j", V, V), 0.0))

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, and absorb the block's queries and labels."""
        state, y = self._state, self._state.model.scaled(arrivals.labels)
        if not state.pending and list(arrivals.ids) == list(ids):
            scores = play(state.labelled, self._X, self._queries.X, y, arrivals.before, self._queries)
        else:
            state.fork()
            state.await_labels(ids, self._queries.X)
            answered = state.rows_of(arrivals.ids)
            scores = play(state.labelled, self._X, answered, y, arrivals.before)
            state.queried.absorb(self._queries)
            state.drop(arrivals.ids)
        return state.model.unscaled(scores)


def play(
    gram: Gram, X: Floats, rows: Floats, y: Floats, before: Ints, prepared: Update | None = None
) -> Floats:
    """Return ⟨θ̂, x⟩ for each x in X as the labels y of `rows` come in `before` some of them, and add these.

    What the labels change is Vᵀ L⁻¹(y − rows θ̂), with V cut where a label was not there yet. `prepared` is
    the update of all rows at once, where the caller has it.
    """
    gram.prepare(rows)
    if gram.is_delicate:
        return _play_in_turn(gram, X, rows, y, before)
    scores = X @ gram.coef
    for part in pieces(len(rows), size=128 if prepared is None else len(rows) + 1):
        update = gram.update(rows[part]) if prepared is None else prepared
        gain = forward(update.L, update.W @ X.T)
        gain[before[part, None] > np.arange(len(X))] = 0.0
        scores += update.surprise(y[part], gram.coef) @ gain
        gram.absorb(update, y[part])
    return np.asarray(scores)


def _play_in_turn(gram: Gram, X: Floats, rows: Floats, y: Floats, before: Ints) -> Floats:
    scores = np.empty(len(X))
    start = 0
    for stop in np.unique(before):
        scores[start:stop] = X[start:stop] @ gram.coef
        gram.add(rows[before == stop], y[before == stop])
        start = stop
    scores[start:] = X[start:] @ gram.coef
    return scores
