"""The exact block look-ahead of the linear model: matrix products now, one update at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.base import Arrivals, Id, Lookahead, Terms
from qufur.models.gram import pieces
from qufur.models.turns import Turns
from qufur.models.update import Update, forward
from qufur.models.view import Posterior, View

if TYPE_CHECKING:
    from qufur.models.ridge_state import RidgeState


class RidgeLook(Lookahead):
    """A block of rows X seen from M at the block's start, in a linear or a kernel model.

    Let K be the covariances a M⁻¹ xᵀ of the queries a with the rows x, and L the Cholesky factor of I + K
    among the queries. The rows of V = L⁻¹K are what each query, one after the other, takes off: with the
    first k of them absorbed, the variance of x is q − Σ_{j≤k} V_jx².
    """

    largest_variance = 1e6

    def __init__(self, state: RidgeState, view: View) -> None:
        self._state = state
        self._view = view
        self.uncertainty = state.model.delta(view.variance)
        self._queries = Update.bare(view.X[:0])

    def decide(self, terms: Terms) -> int:
        """Go through the rows that would be queried if no other were: Δ only falls, so no other row is."""
        rows = (self.uncertainty > terms.lowest).nonzero()[0]
        if len(rows):
            turns = Turns(self._view.among(rows))
            self._go_through(rows, turns, terms)
            if turns.chosen:
                self._settle(rows, *turns.factor())
        return len(rows)

    def _go_through(self, rows: Ints, turns: Turns, terms: Terms) -> None:
        model = self._state.model
        level, most = model.level, model.most  # Δ of one number at a time, as `model.delta` has it of many
        lowest = terms.lowest[rows].tolist()
        for place, row in enumerate(rows.tolist()):
            uncertainty = level * min(most, turns.variance(place))
            if uncertainty > lowest[place]:
                turns.query(place)
                if terms.buy(row, uncertainty):
                    lowest = terms.lowest[rows].tolist()

    def _settle(self, rows: Ints, chosen: Ints, L: Floats) -> None:
        self._queries = self._view.update(chosen, L)
        K = self._view.toward_all(chosen)
        self.queried = rows[chosen]
        self._V = forward(L, K)
        self._V[self.queried[:, None] >= np.arange(len(self._view.X))] = 0.0  # a query comes after these
        variance = self._view.variance - np.einsum("ij,ij->j", self._V, self._V)
        self.uncertainty = self._state.model.delta(np.maximum(variance, 0.0))

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
        return same and np.array_equal(arrivals.before, self.queried + 1) and list(ids) == list(arrivals.ids)


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


def _play_in_turn(gram: Posterior, X: Floats, rows: Floats, y: Floats, before: Ints) -> Floats:
    scores = np.empty(len(X))
    start = 0
    for stop in np.unique(before):
        scores[start:stop] = gram.scores(X[start:stop])
        gram.add(rows[before == stop], y[before == stop])
        start = stop
    scores[start:] = gram.scores(X[start:])
    return scores
