"""Rows that are queried one after the other, as their covariances see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models import blas
from qufur.models.lookahead import Terms

if TYPE_CHECKING:
    from qufur.models.least_squares import LeastSquares


class Turns:
    """Covariances G of some rows, of which the first are queried or not before the next has its turn.

    A query of row i takes g gᵀ/(1 + g_i) off G, with g its column. This is a Cholesky factorisation of
    I + G that leaves out the rows that are not queried: the columns g/√(1 + g_i) of the others are its L.

    >>> turns = Turns(np.array([[1.0, 1.0], [1.0, 1.0]]))
    >>> turns.query(0)
    >>> turns.variance(1)
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
        columns = np.array(self._columns).reshape(len(chosen), -1)[:, chosen]
        spread = np.sqrt(1.0 + np.maximum(columns.diagonal(), 0.0))
        columns /= spread[:, None]
        columns.flat[:: len(chosen) + 1] = spread
        return chosen, columns.T


def in_turns(G: Floats, places: Ints, terms: Terms, model: LeastSquares) -> tuple[Ints, Floats]:
    """Let rows of covariances G, at these places of the terms, be queried or not, one after the other.

    Returns which of them are queried, and L; only its lower triangle means anything.
    """
    turns = Turns(G)
    level, most = model.level, model.most  # Δ of one number at a time, as `model.delta` has it of many
    thresholds = terms.lowest_threshold[places].tolist()
    for turn, place in enumerate(places.tolist()):
        uncertainty = level * min(most, turns.variance(turn))
        if uncertainty > thresholds[turn]:
            turns.query(turn)
            if terms.buy(place, uncertainty):
                thresholds = terms.lowest_threshold[places].tolist()
    return turns.factor()
