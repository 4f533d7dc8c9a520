"""The exact block look-ahead of the linear model: matrix products now, one update at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.models.base import Arrivals, Id, Lookahead
from qufur.models.gram import pieces
from qufur.models.update import Update, cholesky_of_sum, forward
from qufur.models.view import Posterior, View

if TYPE_CHECKING:
    from qufur.models.ridge_state import RidgeState


class RidgeLook(Lookahead):
    """A block of rows X seen from M at the block's start, in a linear or a kernel model.

    Let K be the covariances a M⁻¹ xᵀ of the queries a with the rows x, and L the Cholesky factor of I + K
    among the queries. The rows of V = L⁻¹K are what each query, one after the other, takes off: with the
    first k of them absorbed, the variance of x is q − Σ_{j≤k} V_jx². Where x is the i-th query itself,
    V_ji is L_ij, which saves the division.
    """

    largest_variance = 1e6

    def __init__(self, state: RidgeState, view: View) -> None:
        self._state = state
        self._view = view
        self.uncertainty = state.model.delta(view.variance)
        self._chosen = np.empty(0, dtype=np.int64)
        self._queries = Update.bare(view.X[:0])

    def consider(self, rows: Ints) -> None:
        """Compute the covariances of the rows that may be queried, among themselves."""
        self._rows = rows
        self._among = self._view.among(rows)

    def given(self, chosen: Bools) -> Floats:
        """Return Δ of each considered row if the chosen ones among them are queried."""
        self._chosen, others = chosen.nonzero()[0], (~chosen).nonzero()[0]
        K = self._among[self._chosen]
        self._L = cholesky_of_sum(K[:, self._chosen])
        taken = np.empty(len(chosen))
        taken[self._chosen] = np.einsum("ij,ij->i", self._L, self._L) - self._L.diagonal() ** 2
        if len(others):
            taken[others] = _squares(self._taken_off(K[:, others], others))
        return self._delta(self._view.variance[self._rows] - taken)

    def settle(self) -> None:
        """Make the rows last chosen the block's queries."""
        self._queries = self._view.update(self._chosen, self._L)
        K = self._view.toward_all(self._chosen)
        self._chosen = self._rows[self._chosen]
        self._V = self._taken_off(K, np.arange(len(self._view.X)))
        self.uncertainty = self._delta(self._view.variance - _squares(self._V))

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, and absorb the block's queries and labels."""
        state = self._state
        if self._all_answered_at_once(ids, arrivals):
            scores = self._view.scores()
            if len(ids):
                y = state.model.scaled(arrivals.labels)
                scores += state.labelled.absorb(self._queries, y) @ self._V
        else:
            state.fork()
            state.await_labels(ids, self._queries.X)
            rows, y = state.evidence(arrivals.ids, arrivals.labels)
            scores = play(state.labelled, self._view.X, rows, y, arrivals.before)
            state.queried.absorb(self._queries)
            state.drop(arrivals.ids)
        state.advance(len(self._view.X))
        return state.model.unscaled(scores)

    def _all_answered_at_once(self, ids: Sequence[Id], arrivals: Arrivals) -> bool:
        # Then one matrix serves queries and labels, and V serves variances and predictions.
        state = self._state
        same = not state.pending and len(ids) == len(arrivals.ids) and not state.labelled.is_delicate
        return same and np.array_equal(arrivals.before, self._chosen + 1) and list(ids) == list(arrivals.ids)

    def _taken_off(self, K: Floats, rows: Ints) -> Floats:
        """Return V for some rows, zero where the query comes after the row."""
        V = forward(self._L, K)
        V[self._chosen[:, None] >= rows] = 0.0
        return V

    def _delta(self, variance: Floats) -> Floats:
        return self._state.model.delta(np.maximum(variance, 0.0))


def play(gram: Posterior, X: Floats, rows: Floats, y: Floats, before: Ints) -> Floats:
    """Return ⟨θ̂, x⟩ for each x in X as the labels y of `rows` come in `before` some of them, and add these.

    What the labels change is Vᵀ L⁻¹(y − rows θ̂), with V cut where a label was not there yet.
    """
    gram.prepare(rows)
    if gram.is_delicate:
        return _play_in_turn(gram, X, rows, y, before)
    scores = gram.scores(X)
    for part in pieces(len(rows)):
        update = gram.update(rows[part])
        gain = forward(update.L, gram.covariance(update, X))
        gain[before[part, None] > np.arange(len(X))] = 0.0
        scores += gram.absorb(update, y[part]) @ gain
    return np.asarray(scores)


def _squares(V: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", V, V))


def _play_in_turn(gram: Posterior, X: Floats, rows: Floats, y: Floats, before: Ints) -> Floats:
    scores = np.empty(len(X))
    start = 0
    for stop in np.unique(before):
        scores[start:stop] = gram.scores(X[start:stop])
        gram.add(rows[before == stop], y[before == stop])
        start = stop
    scores[start:] = gram.scores(X[start:])
    return scores
