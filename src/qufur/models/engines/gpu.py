"""The exact block look-ahead on a GPU: products and factors there, decisions on the host."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.errors import DeviceWarning
from qufur.models.engines.covariance import CovarianceEngine
from qufur.models.gram.card import CardGram
from qufur.models.gram.card_view import CardUpdate, CardView
from qufur.models.gram.gram import Gram
from qufur.models.gram.posterior import Posterior
from qufur.models.gram.update import Update
from qufur.models.lookahead import Effort, Reach, Terms
from qufur.tensors import Tensor, beside, on_device, on_host

if TYPE_CHECKING:
    from qufur.models.least_squares_state import LeastSquaresState


class GpuEngine(CovarianceEngine):
    """As `CovarianceEngine`, where X and M⁻¹ are on a device of torch.

    A rule that takes a block at once has its candidates settled by their own covariances, and these, L and V
    stay on the device. One that changes within the block decides some rows at a time: then the covariances of
    all rows come to the host, which waits for the device no more.
    """

    first_block_size: ClassVar[int] = 512
    most_candidates: ClassVar[int] = 2048
    """So many are settled together: a block that begins with a new domain may have far more at first."""
    tries: ClassVar[int] = 16
    """So often candidates are settled together before they have their turns, which takes longer."""

    _view: CardView

    def __init__(self, state: LeastSquaresState, X: Any) -> None:
        super().__init__(state, X)
        self._at_once = False
        self._update: CardUpdate | None = None

    def __len__(self) -> int:
        return len(self._variance)  # a tensor takes longer to say

    @classmethod
    def reach(cls, dim: int, at_once: bool) -> Reach:
        """Return how far to look ahead: 512 MB of rows are enough to keep a large GPU busy."""
        largest = max(1024, min(16384, 2**26 // dim)) if at_once else 1024
        return Reach(cls.first_block_size, 128, largest, cls.most_candidates // 2, cls.most_candidates)

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
        """Decide the next rows; unless these are all, the host has to know the covariances of all.

        Where there are too many candidates, the first of them have their turn, and the others are those whose
        Δ is still large enough.
        """
        self._at_once = len(terms.lowest_threshold) == len(self)
        if not self._at_once:
            if not self._decided:
                self._view.fetch_all()
            return super().decide(terms)
        effort, start = Effort(len(self), 0, 0), 0
        while len(ahead := (self.uncertainty[start:] > terms.lowest_threshold[start:]).nonzero()[0]):
            places = start + ahead[: self.most_candidates]
            effort += Effort(0, len(places), self._go_through(0, places, terms))
            start = int(places[-1]) + 1
        return effort

    def learn(self, y: Floats) -> Floats:
        """Predict by M at the block's start, and add what each label changes for the rows after it."""
        scores = self._view.scores()
        if len(y):
            update = self._whitened()
            # Before the labels are absorbed: the host would wait for that.
            off = update.off(y)
            scores += on_host(off @ self._V) if self._at_once else on_host(off) @ self._V
            self._state.labelled.absorb(update, y)
        return scores

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels, as tensors."""
        return self._whitened() if len(self.queried) else Update.bare(self.X[:0])

    def _whitened(self) -> CardUpdate:
        if self._update is None:
            self._update = self._view.with_rows(self.queried, super().update().L)
        return self._update

    def _choose(self, G: Any, places: Ints, terms: Terms) -> tuple[Ints, Any]:
        """Assume that all are queried, then those that are wanted nevertheless, until nothing changes.

        The more rows are queried before a row, the lower its Δ. So a row that is wanted after too many is
        queried, one that is not wanted after too few is not, and by turns the two meet, mostly at once.
        """
        lowest, left = terms.lowest_threshold[places], terms.labels_left
        enough = left.min(where=left > 0, initial=np.inf) >= len(places)
        assumed = np.ones(len(places), dtype=bool)
        for _ in range(self.tries if self._at_once and enough else 0):
            L, uncertainty = self._as_if_queried(G, assumed)
            wanted = uncertainty > lowest
            if np.array_equal(wanted, assumed):
                own = wanted.nonzero()[0]
                terms.record_purchases(places[own], terms.thresholds[:, places[own]] < uncertainty[own])
                kept = on_device(own, L.device)
                return own, L[kept[:, None], kept]
            assumed = wanted
        return super()._choose(on_host(G), places, terms)

    def _as_if_queried(self, G: Tensor, queried: Bools) -> tuple[Tensor, Floats]:
        """Return L, with rows of the unit matrix for those not queried; and Δ of each row at its turn."""
        import torch

        weight = beside(queried, G)
        K = weight[:, None] * G
        L, _ = torch.linalg.cholesky_ex(K * weight + torch.eye(len(G), dtype=G.dtype, device=G.device))
        V = torch.linalg.solve_triangular(L, K, upper=False).triu_(1)  # a query comes after the others
        variance = on_host(G.diagonal() - (V * V).sum(0))
        return L, self._state.model.uncertainty_of(np.maximum(variance, 0.0))

    def _settle(self, queried: Ints, L: Any) -> None:
        if not self._at_once:
            super()._settle(queried, L)
            return
        import torch

        if self._update is not None:
            queried, L = np.concatenate([self.queried, queried]), self._joined(queried, L)
        self._update = self._view.with_rows(queried, L)
        V = self._update.Z @ self.X.T
        rows = torch.arange(len(self.X), device=V.device)
        V *= beside(queried, self.X)[:, None] < rows  # the others come before a query
        self._V, self.queried = V, queried
        self._variance = np.maximum(self._view.variance - on_host((V * V).sum(0)), 0.0)
        self.uncertainty = self._state.model.uncertainty_of(self._variance)

    def _joined(self, queried: Ints, L: Any) -> Tensor:
        """Return L of all queries, where that of the latest counts the earlier as absorbed."""
        import torch

        earlier, taken, L = cast(CardUpdate, self._update).L, self._V[:, queried], on_device(L, self.X.device)
        return torch.cat([torch.cat([earlier, torch.zeros_like(taken)], 1), torch.cat([taken.T, L], 1)])
