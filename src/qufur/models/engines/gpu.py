"""The exact block look-ahead on a GPU: the large products there, the candidates of a block on the host."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.errors import DeviceWarning
from qufur.models.engines.covariance import CovarianceEngine
from qufur.models.gram.card import CardGram
from qufur.models.gram.card_view import CardUpdate, CardView
from qufur.models.gram.gram import Gram, pieces
from qufur.models.gram.posterior import Posterior
from qufur.models.gram.update import Update, cholesky_of_sum, forward
from qufur.models.lookahead import Effort, Reach, Terms
from qufur.tensors import beside, on_device, on_host

if TYPE_CHECKING:
    from qufur.models.least_squares_state import LeastSquaresState


class GpuEngine(CovarianceEngine):
    """As `CovarianceEngine`, where X and M⁻¹ are on a device of torch.

    A rule that takes a block at once has its candidates settled by their own covariances, and V stays on the
    device. One that changes within the block decides some rows at a time: then the covariances of all rows
    come to the host, which waits for the device no more.
    """

    first_block_size: ClassVar[int] = 512
    panel: ClassVar[int] = 64
    tries: ClassVar[int] = 8
    """So often a panel is settled as a whole before its rows have their turns, which takes longer."""

    _view: CardView

    def __init__(self, state: LeastSquaresState, X: Any) -> None:
        super().__init__(state, X)
        self._at_once = False
        self._update: CardUpdate | None = None

    def __len__(self) -> int:
        return len(self._variance)  # a tensor takes longer to say

    @classmethod
    def reach(cls, dim: int, at_once: bool) -> Reach:
        """Return how far to look ahead: 256 MB of rows are enough to keep a large GPU busy.

        The host takes a millisecond or two over 250 candidates, and three times as long over twice as many.
        """
        largest = max(1024, min(8192, 2**25 // dim)) if at_once else 1024
        return Reach(cls.first_block_size, 128, largest, 256, 768)

    @classmethod
    def fits(cls, posterior: Posterior) -> bool:
        """Return whether M is on a device."""
        return isinstance(posterior, Gram) and isinstance(posterior.form, CardGram)

    @classmethod
    def expect(cls, state: LeastSquaresState, X: Any) -> None:
        """Let the device begin with a tensor that is likely to come next, if M is there."""
        import torch

        if cls.fits(state.queried):
            with suppress(torch.cuda.OutOfMemoryError):  # which is met again when its turn has come
                rows = state.model.features(X)
                cast(CardGram, cast(Gram, state.queried).form).expect(rows)
                state.expected = X, rows

    @classmethod
    def on_device(cls, state: LeastSquaresState, X: Any) -> GpuEngine | None:
        """Look ahead on the state's device; None where that costs digits, or there is no room.

        Without room the learner stays on the host from then on.
        """
        import torch

        try:
            return cls._moved(state, X)
        except torch.cuda.OutOfMemoryError:
            state.device = None
            for posterior in state.posteriors:
                cast(Gram, posterior).move_to(None)
            reason = "The GPU has no memory left: the learner goes on with the CPU."
            warnings.warn(reason, DeviceWarning, stacklevel=2)
            return None

    @classmethod
    def _moved(cls, state: LeastSquaresState, X: Any) -> GpuEngine | None:
        """Move M and the inputs to the device, and look ahead."""
        (expected, rows), state.expected, queried = state.expected or (None, None), None, state.queried
        if X is not expected:
            rows = state.model.features(on_device(X, state.device))
        if not cls.fits(queried):
            queried.prepare_for(queried.squares(on_host(rows)))
        for posterior in state.posteriors:
            cast(Gram, posterior).move_to(state.device)
        if not cls.fits(queried):
            return None
        engine = cls(state, rows)
        queried.prepare_for(engine._view.squares)
        return engine if cls.fits(queried) else None

    def decide(self, terms: Terms) -> Effort:
        """Decide the next rows; unless these are all, the host has to know the covariances of all."""
        self._at_once = len(terms.lowest_threshold) == len(self)
        if not self._at_once and not self._decided:
            self._view.fetch_all()
        return super().decide(terms)

    def learn(self, y: Floats) -> Floats:
        """Predict by M at the block's start, and add what each label changes for the rows after it."""
        scores = self._view.scores()
        if len(y):
            update = self._whitened()
            # Before the labels are absorbed: the host would wait for that.
            scores += on_host(beside(update.off(y), self._V) @ self._V)
            self._state.labelled.absorb(update, y)
        return scores

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels, as tensors."""
        return self._whitened() if len(self.queried) else Update.bare(self.X[:0])

    def _whitened(self) -> CardUpdate:
        if self._update is None:
            self._update = self._view.with_rows(self.queried, super().update().L)
        return self._update

    def _choose(self, G: Floats, places: Ints, terms: Terms) -> tuple[Ints, Floats]:
        """Go through the candidates panel by panel, so that no row of Python is run for most of them.

        V has a row for each query and a column for each candidate; those of the queries are Lᵀ.
        """
        if len(places) <= self.panel:
            return self._choose_panel(G, places, terms)
        chosen, V = np.empty(0, dtype=np.int64), np.zeros((len(places), len(places)))
        for part in pieces(len(places), size=self.panel):
            before, later = V[: len(chosen)], slice(part.stop, None)
            left = G[part, part] - before[:, part].T @ before[:, part]
            own, factor = self._choose_panel(left, places[part], terms)
            rows, here = part.start + own, slice(len(chosen), len(chosen) + len(own))
            V[here, later] = forward(factor, G[rows, later] - before[:, rows].T @ before[:, later])
            V[here, rows] = factor.T
            chosen = np.concatenate([chosen, rows])
        return chosen, V[: len(chosen), chosen].T

    def _choose_panel(self, G: Floats, places: Ints, terms: Terms) -> tuple[Ints, Floats]:
        """Assume that all are queried, then those that are wanted nevertheless, until nothing changes.

        The more rows are queried before a row, the lower its Δ. So a row that is wanted after too many is
        queried, one that is not wanted after too few is not, and by turns the two meet, mostly at once.
        """
        lowest, left = terms.lowest_threshold[places], terms.labels_left
        enough = left.min(where=left > 0, initial=np.inf) >= len(places)
        own, assumed = np.arange(len(places)), np.ones(len(places), dtype=bool)
        for _ in range(self.tries if enough else 0):
            L, uncertainty = self._as_if_queried(G, own)
            wanted = uncertainty > lowest
            if np.array_equal(wanted, assumed):
                terms.record_purchases(places[own], terms.thresholds[:, places[own]] < uncertainty[own])
                return own, L
            own, assumed = wanted.nonzero()[0], wanted
        return super()._choose(G, places, terms)

    def _as_if_queried(self, G: Floats, queried: Ints) -> tuple[Floats, Floats]:
        """Return L of some rows, and Δ of each row after all of those before it."""
        everyone = len(queried) == len(G)
        L = cholesky_of_sum(G.copy() if everyone else G[np.ix_(queried, queried)])
        spread, taken = L.diagonal().copy(), np.empty(len(G))
        np.fill_diagonal(L, 0.0)
        taken[queried] = np.einsum("ij,ij->i", L, L)
        np.fill_diagonal(L, spread)
        if not everyone:
            others = np.delete(np.arange(len(G)), queried)
            V = forward(L, G[queried[:, None], others])
            V[queried[:, None] > others] = 0.0  # a query comes after these
            taken[others] = np.einsum("ij,ij->j", V, V)
        return L, self._state.model.uncertainty_of(np.maximum(G.diagonal() - taken, 0.0))

    def _settle(self, queried: Ints, L: Floats) -> None:
        if not self._at_once:
            super()._settle(queried, L)
            return
        import torch

        self._update = self._view.with_rows(queried, L)
        V = self._update.Z @ self.X.T
        rows = torch.arange(len(self.X), device=V.device)
        V *= beside(queried, self.X)[:, None] < rows  # the others come before a query
        self._V, self.queried = V, queried
        self._variance = np.maximum(self._variance - on_host((V * V).sum(0)), 0.0)
        self.uncertainty = self._state.model.uncertainty_of(self._variance)
