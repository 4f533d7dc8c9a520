"""What an engine is, and how a block is played once its queries are decided."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.base import Id
from qufur.models.gram.gram import pieces
from qufur.models.gram.posterior import Posterior
from qufur.models.gram.update import Update, forward
from qufur.models.lookahead import Arrivals, Lookahead
from qufur.tensors import on_host

if TYPE_CHECKING:
    from qufur.models.least_squares_state import LeastSquaresState


class BlockEngine(Lookahead):
    """Decides a block of rows X, as the posterior takes them, seen from M at the block's start.

    A new one has `fits` or `suits`, `decide`, `learn` and `update`, and is listed in `engines/__init__.py`.
    """

    first_block_size: ClassVar[int] = 32
    """Over how many inputs it pays to look ahead at first."""
    largest_variance: ClassVar[float] = 1e6
    """Queries take squares off variances: digits are lost where those are huger than this."""

    def __init__(self, state: LeastSquaresState, X: Floats) -> None:
        self._state = state
        self.X = X

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def fits(cls, posterior: Posterior) -> bool:
        """Return whether this is the way to look ahead from such a posterior. It changes nothing."""
        return True

    @classmethod
    def suits(cls, posterior: Posterior, X: Floats, squares: float) -> bool:
        """Return whether this is the way to decide several rows of such a Σ‖x‖². It changes nothing."""
        return cls.fits(posterior)

    @abstractmethod
    def learn(self, y: Floats) -> Floats:
        """Return the scores where every query is answered before the next row; absorb queries and labels."""

    @abstractmethod
    def update(self) -> Update:
        """Return the queries, to be absorbed without labels."""

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, and absorb the block's queries and labels."""
        state = self._state
        if self._all_answered_at_once(ids, arrivals):
            scores = self.learn(state.model.scaled(arrivals.labels))
        else:
            queries = self.update()
            state.split()
            state.await_labels(ids, on_host(queries.X))
            rows, y = state.rows_and_labels(arrivals.ids, arrivals.labels)
            scores = play(state.labelled, self.X, rows, y, arrivals.before)
            state.queried.absorb(queries)
            state.drop(arrivals.ids)
        state.advance(len(self.X))
        return state.model.unscaled(scores)

    def _all_answered_at_once(self, ids: Sequence[Id], arrivals: Arrivals) -> bool:
        # Then one matrix serves queries and labels.
        state = self._state
        same = not state.pending and len(ids) == len(arrivals.ids) and not state.labelled.sequential_only
        return same and np.array_equal(arrivals.before, self.queried + 1) and list(ids) == list(arrivals.ids)


def play(gram: Posterior, X: Floats, rows: Floats, y: Floats, before: Ints) -> Floats:
    """Return ⟨θ̂, x⟩ for each x in X as the labels y of `rows` come in `before` some of them, and add these.

    What the labels change is Vᵀ L⁻¹(y − rows θ̂), with V cut where a label was not there yet.
    """
    scores = gram.scores(X)
    for part in pieces(len(rows)):
        update = gram.update(rows[part])
        if gram.sequential_only:  # the rows of a piece may bring M to that
            first, rest = before[part.start], slice(part.start, None)
            scores[first:] = _play_in_turn(gram, X[first:], rows[rest], y[rest], before[rest] - first)
            break
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
