"""The look-ahead of a small linear model, by a few calls of BLAS for each row that may be queried."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models import blas
from qufur.models.engines.copy_look import CopyLook
from qufur.models.gram.covariances import ByHalves
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.update import forward
from qufur.models.lookahead import Terms

if TYPE_CHECKING:
    from qufur.models.least_squares_state import RidgeState

LARGEST_DIM = 128
"""Beyond it a row by itself takes longer than its covariances with the other candidates of a block."""
ROWS = 128


class Panel(NamedTuple):
    """Rows that met M⁻¹ together, those of them that are queried with their z, and V = Z Xᵀ.

    V is 0 for the rows that come before a query: ⟨z, x⟩² is what it takes off the variances of the others.
    """

    X: Floats
    queried: Ints
    Z: Floats
    V: Floats


class PanelLook(CopyLook):
    """A block of rows that meet M⁻¹ in panels.

    Variances at a panel's start tell which rows would be queried if no other were: Δ only falls, so no other
    row is. Each of these then meets M⁻¹ as it is by its turn, which costs 2d² flops, and 2d² more if it is
    queried. The covariances of `BlockLook` cost more than that where M⁻¹ is small.
    """

    def __init__(self, state: RidgeState, gram: Gram, X: Floats) -> None:
        super().__init__(state, gram, X)
        self.inverse = cast(InverseGram, gram.form).inverse.copy(order="F")
        self._panels: list[Panel] = []

    @classmethod
    def suits(cls, gram: Gram) -> bool:
        """Return whether M⁻¹ itself is there, and small."""
        return isinstance(gram.form, InverseGram) and len(gram.coef) <= LARGEST_DIM

    def decide(self, terms: Terms) -> int:
        """Decide panel by panel; turns cost the same in any block, so that none is called too large."""
        first, count = len(self.variance), terms.thresholds.shape[1]
        parts = [slice(start, min(start + ROWS, count)) for start in range(0, count, ROWS)]
        found = [self._decide(self.X[first:][part], terms, part) for part in parts]
        variances, panels = zip(*found, strict=True)
        self._panels += panels
        self.variance = np.concatenate([self.variance, *variances])
        self.Z = np.concatenate([self.Z, *(panel.Z for panel in panels)])
        places = [first + part.start + panel.queried for part, panel in zip(parts, panels, strict=True)]
        self.queried = np.concatenate([self.queried, *places])
        self.uncertainty = self._state.model.delta(self.variance)
        return 0

    def _decide(self, X: Floats, terms: Terms, part: slice) -> tuple[Floats, Panel]:
        delta, variance = self._state.model.delta, ByHalves(self.inverse, X).variance
        places = (delta(variance) > terms.lowest_threshold[part]).nonzero()[0]
        queried, W, q = self._in_turns(X, places.tolist(), terms, part)
        if not queried:
            return variance, Panel(X, places[:0], X[:0], X[:0, :0])
        rows, Z = np.array(queried), np.array(W) / np.sqrt(1.0 + np.array(q))[:, None]
        V = Z @ X.T
        V[rows[:, None] >= np.arange(len(X))] = 0.0
        return np.maximum(variance - np.einsum("ij,ij->j", V, V), 0.0), Panel(X, rows, Z, V)

    def _in_turns(
        self, X: Floats, places: list[int], terms: Terms, part: slice
    ) -> tuple[list[int], list[Floats], list[float]]:
        """Let some rows be queried or not, one after the other; return those that are, their M⁻¹x and q."""
        model, inverse = self._state.model, self.inverse
        level, most = model.level, model.most  # Δ of one number at a time, as `model.delta` has it of many
        thresholds = terms.lowest_threshold[part].tolist()
        queried, solved, variances = [], [], []
        for place in places:
            x = X[place]
            w = blas.dsymv(1.0, inverse, x)
            q = max(0.0, float(w.dot(x)))
            uncertainty = level * min(most, q)
            if uncertainty > thresholds[place]:
                blas.dsyr(-1.0 / (1.0 + q), w, a=inverse, overwrite_a=1)
                queried.append(place)
                solved.append(w)
                variances.append(q)
                if terms.buy(part.start + place, uncertainty):
                    thresholds = terms.lowest_threshold[part].tolist()
        return queried, solved, variances

    def learn(self, y: Floats) -> Floats:
        """Predict by θ̂ at a panel's start, and add what each label changes for the rows after it."""
        coef = self.gram.coef.copy()
        scores, surprises, spread, start = [], [np.empty(0)], self._spread(), 0
        for X, queried, Z, V in self._panels:
            score, stop = X @ coef, start + len(queried)
            if stop > start:
                L = np.asfortranarray(V[:, queried].T)
                L.flat[:: len(queried) + 1] = spread[start:stop]
                surprise = forward(L, (y[start:stop] - score[queried])[:, None])[:, 0]
                score += surprise @ V
                coef += surprise @ Z
                surprises.append(surprise)
            scores.append(score)
            start = stop
        self.give_back(y, np.concatenate(surprises), coef)
        return np.concatenate(scores)
