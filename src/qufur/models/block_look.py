"""The exact block look-ahead of least squares: matrix products now, one update at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models import compiled_look
from qufur.models.look import Terms
from qufur.models.ridge_look import RidgeLook
from qufur.models.turns import Turns
from qufur.models.update import Update, forward
from qufur.models.view import View

if TYPE_CHECKING:
    from qufur.models.ridge_state import RidgeState


class BlockLook(RidgeLook):
    """A block of rows X seen from M at the block's start, in a linear or a kernel model.

    Let K be the covariances a M⁻¹ xᵀ of the queries a with the rows x, and L the Cholesky factor of I + K
    among the queries. The rows of V = L⁻¹K are what each query, one after the other, takes off: with the
    first k of them absorbed, the variance of x is q − Σ_{j≤k} V_jx².
    """

    def __init__(self, state: RidgeState, view: View) -> None:
        super().__init__(state, view.X)
        self._view = view
        self.uncertainty = state.model.delta(view.variance)
        self._queries = Update.bare(view.X[:0])

    def learn(self, y: Floats) -> Floats:
        """Predict by M at the block's start, and add what each label changes for the rows after it."""
        scores = self._view.scores()
        if len(y):
            scores += self._state.labelled.absorb(self._queries, y) @ self._V
        return scores

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels."""
        return self._queries

    def decide(self, terms: Terms) -> int:
        """Go through the rows that would be queried if no other were: Δ only falls, so no other row is."""
        rows = (self.uncertainty > terms.lowest).nonzero()[0]
        if len(rows):
            compiles = len(rows) >= compiled_look.FEWEST_ROWS and compiled_look.available()
            go_through = self._go_through_compiled if compiles else self._go_through
            chosen, L = go_through(rows, self._view.among(rows), terms)
            if len(chosen):
                self._settle(rows, chosen, L)
        return len(rows)

    def _go_through_compiled(self, rows: Ints, G: Floats, terms: Terms) -> tuple[Ints, Floats]:
        from qufur.models import compiled

        model, levels = self._state.model, np.ascontiguousarray(terms.levels[:, rows].T)
        G = np.ascontiguousarray(G)
        charges, chosen, columns = compiled.take_turns(G, levels, terms.room, model.level, model.most)
        terms.charges[:, rows] = charges.T
        return chosen, columns[:, chosen].T

    def _go_through(self, rows: Ints, G: Floats, terms: Terms) -> tuple[Ints, Floats]:
        turns, model = Turns(G), self._state.model
        level, most = model.level, model.most  # Δ of one number at a time, as `model.delta` has it of many
        lowest = terms.lowest[rows].tolist()
        for place, row in enumerate(rows.tolist()):
            uncertainty = level * min(most, turns.variance(place))
            if uncertainty > lowest[place]:
                turns.query(place)
                if terms.buy(row, uncertainty):
                    lowest = terms.lowest[rows].tolist()
        return turns.factor()

    def _settle(self, rows: Ints, chosen: Ints, L: Floats) -> None:
        self._queries = self._view.update(chosen, L)
        K = self._view.toward_all(chosen)
        self.queried = rows[chosen]
        self._V = forward(L, K)
        self._V[self.queried[:, None] >= np.arange(len(self.X))] = 0.0  # a query comes after these
        variance = self._view.variance - np.einsum("ij,ij->j", self._V, self._V)
        self.uncertainty = self._state.model.delta(np.maximum(variance, 0.0))
