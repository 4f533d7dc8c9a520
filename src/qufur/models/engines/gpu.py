"""Exact block look-ahead on a torch device: products and factorisations there, decisions on the host."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from qufur._internal.tensors import Tensor, beside, on_device, on_host
from qufur.arrays import Bools, Floats, Ints
from qufur.errors import DeviceWarning
from qufur.models.engines.covariance import CovarianceEngine
from qufur.models.gram.gram import Gram
from qufur.models.gram.posterior import Posterior
from qufur.models.gram.torch_block import TorchBlock, TorchUpdate
from qufur.models.gram.torch_inverse import TorchGram
from qufur.models.gram.update import Update
from qufur.models.lookahead import BlockCost, BlockLimits, QueryTerms

if TYPE_CHECKING:
    from qufur.models._least_squares_state import LeastSquaresState


class GpuEngine(CovarianceEngine):
    """`CovarianceEngine` with X and M⁻¹ on a torch device.

    If a rule decides a block in one offer, candidates are settled together, and their covariances, L and V
    stay on the device. If the rule changes within the block, rows are decided in several offers: then the
    covariances of all rows are copied to the host once, which then no longer waits for the device.
    """

    first_block_size: ClassVar[int] = 512
    max_candidates: ClassVar[int] = 2048
    """Candidates settled together: a block that begins with a new domain may have far more at first."""
    tries: ClassVar[int] = 16
    """Attempts to settle candidates together before they are decided one by one, which takes longer."""

    _view: TorchBlock

    def __init__(self, state: LeastSquaresState, X: Any) -> None:
        super().__init__(state, X)
        self._at_once = False
        self._update: TorchUpdate | None = None

    def __len__(self) -> int:
        return len(self._variance)  # len() of a tensor is slower

    @classmethod
    def block_limits(cls, dim: int, at_once: bool) -> BlockLimits:
        """Return the block limits: 512 MB of rows keep a large GPU busy."""
        largest = max(1024, min(16384, 2**26 // dim)) if at_once else 1024
        return BlockLimits(cls.first_block_size, 128, largest, cls.max_candidates // 2, cls.max_candidates)

    @classmethod
    def fits(cls, posterior: Posterior) -> bool:
        """Return whether M is on a device."""
        return isinstance(posterior, Gram) and isinstance(posterior.form, TorchGram)

    @classmethod
    def prefetch(cls, state: LeastSquaresState, X: Any) -> None:
        """Start work on a tensor that is likely to come next, if M is on the device."""
        import torch

        if cls.fits(state.queried):
            with suppress(torch.cuda.OutOfMemoryError):  # raised again when the block is decided
                rows = state.model.features(X)
                cast(TorchGram, cast(Gram, state.queried).form).prefetch(rows)
                state.expected = X, rows

    @classmethod
    def on_device(cls, state: LeastSquaresState, X: Any) -> GpuEngine | None:
        """Look ahead on the state's device; return None if that loses precision or memory is short.

        After running out of memory the learner stays on the host.
        """
        import torch

        try:
            return cls._moved(state, X)
        except torch.cuda.OutOfMemoryError:
            state.device = None
            for posterior in state.posteriors:
                cast(Gram, posterior).move_to(None)
            reason = "The GPU is out of memory: the learner continues on the CPU."
            warnings.warn(reason, DeviceWarning, stacklevel=2)
            return None

    @classmethod
    def _moved(cls, state: LeastSquaresState, X: Any) -> GpuEngine | None:
        """Move M and the inputs to the device and look ahead."""
        expected, rows = state.expected or (None, None)
        queried = state.queried
        state.expected = None
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

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Decide the next rows; if the block takes several offers, copy all covariances to the host first.

        With more than `max_candidates`, the first of them are settled, then those of the remaining rows whose
        Δ is still above its threshold.
        """
        self._at_once = len(terms.lowest_threshold) == len(self)
        if not self._at_once:
            if not self._decided:
                self._view.fetch_all()
            return super().decide(terms)
        cost, start = BlockCost(len(self), 0, 0), 0
        while len(ahead := (self.uncertainty[start:] > terms.lowest_threshold[start:]).nonzero()[0]):
            indices = start + ahead[: self.max_candidates]
            cost += BlockCost(0, len(indices), self._decide_candidates(0, indices, terms))
            start = int(indices[-1]) + 1
        return cost

    def learn(self, y: Floats) -> Floats:
        """Predict with M at the block's start, and add the effect of each label on later rows."""
        scores = self._view.scores()
        if len(y):
            update = self._whitened()
            # Before the labels are absorbed: the host would wait for that.
            innovation = update.innovations(y)
            scores += on_host(innovation @ self._V) if self._at_once else on_host(innovation) @ self._V
            self._state.labelled.absorb(update, y)
        return scores

    def update(self) -> Update:
        """Return the queries, to be absorbed without labels, as tensors."""
        return self._whitened() if len(self.queried) else Update.bare(self.X[:0])

    def _whitened(self) -> TorchUpdate:
        if self._update is None:
            self._update = self._view.with_rows(self.queried, super().update().L)
        return self._update

    def _choose(self, G: Any, indices: Ints, terms: QueryTerms) -> tuple[Ints, Any]:
        """Find the queries as a fixed point: start with all candidates, keep those above threshold.

        More queries before a row lower its Δ. A row above its threshold after too many queries is
        queried; one below it after a subset is not. The two usually meet in the first round.
        """
        lowest, left = terms.lowest_threshold[indices], terms.labels_left
        enough = left.min(where=left > 0, initial=np.inf) >= len(indices)
        assumed = np.ones(len(indices), dtype=bool)
        for _ in range(self.tries if self._at_once and enough else 0):
            L, uncertainty = self._as_if_queried(G, assumed)
            above = uncertainty > lowest
            if np.array_equal(above, assumed):
                chosen = above.nonzero()[0]
                rows = indices[chosen]
                terms.record_purchases(rows, terms.thresholds[:, rows] < uncertainty[chosen])
                on_gpu = on_device(chosen, L.device)
                return chosen, L[on_gpu[:, None], on_gpu]
            assumed = above
        return super()._choose(on_host(G), indices, terms)

    def _as_if_queried(self, G: Tensor, queried: Bools) -> tuple[Tensor, Floats]:
        """Return L, with unit rows for rows that are not queried, and Δ of each row when it is decided."""
        import torch

        weight = beside(queried, G)
        K = weight[:, None] * G
        L, _ = torch.linalg.cholesky_ex(K * weight + torch.eye(len(G), dtype=G.dtype, device=G.device))
        V = torch.linalg.solve_triangular(L, K, upper=False).triu_(1)  # a query affects later rows only
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
        V *= beside(queried, self.X)[:, None] < rows  # a query affects later rows only
        self._V, self.queried = V, queried
        self._variance = np.maximum(self._view.variance - on_host((V * V).sum(0)), 0.0)
        self.uncertainty = self._state.model.uncertainty_of(self._variance)

    def _joined(self, queried: Ints, L: Any) -> Tensor:
        """Return L of all queries; the given L treats the earlier queries as absorbed."""
        import torch

        earlier, taken = cast(TorchUpdate, self._update).L, self._V[:, queried]
        above = torch.cat([earlier, torch.zeros_like(taken)], 1)
        return torch.cat([above, torch.cat([taken.T, on_device(L, self.X.device)], 1)])
