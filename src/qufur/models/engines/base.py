"""Base class of block engines, and predictions of a block while labels arrive."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qufur._internal.tensors import on_host
from qufur.arrays import Floats, Ints
from qufur.models.gram.gram import pieces
from qufur.models.gram.posterior import Posterior
from qufur.models.gram.update import Update, forward
from qufur.models.lookahead import Arrivals, Lookahead
from qufur.pending import Pending

if TYPE_CHECKING:
    from qufur.models._least_squares_state import LeastSquaresState


class BlockEngine(Lookahead):
    """Engine that decides a block of rows X, as they enter the posterior, from M at the block's start.

    A subclass implements `fits` or `suits`, `decide`, `learn` and `update`, and is listed in `ENGINES`.
    """

    first_block_size: ClassVar[int] = 32
    """Rows of the first block."""
    largest_variance: ClassVar[float] = 1e6
    """Largest variance of a block: queries subtract squares from variances, which loses precision beyond."""

    def __init__(self, state: LeastSquaresState, X: Floats) -> None:
        self._state = state
        self.X = X

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def fits(cls, posterior: Posterior) -> bool:
        """Return whether the engine supports this posterior. It changes nothing."""
        return True

    @classmethod
    def suits(cls, posterior: Posterior, X: Floats, squares: float) -> bool:
        """Return whether the engine should decide these rows, with Σ‖x‖² = `squares`. It changes nothing."""
        return cls.fits(posterior)

    @abstractmethod
    def learn(self, y: Floats) -> Floats:
        """Return the scores if every query is answered before the next row; absorb queries and labels."""

    @abstractmethod
    def update(self) -> Update:
        """Return the queries, to be absorbed without labels."""

    def finish(self, queries: Sequence[Pending], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, and absorb the block's queries and labels."""
        state = self._state
        separate = state.predict_block(self.X, self.queried, queries, arrivals)
        if self._all_answered_immediately(queries, arrivals):
            scores = self.learn(state.model.scaled(arrivals.labels))
        else:
            update = self.update()
            state.split()
            state.record(queries, on_host(update.X))
            rows, y = state.rows_and_labels(arrivals.queries, arrivals.labels)
            scores = predict_with_arrivals(state.labelled, self.X, rows, y, arrivals.before)
            state.queried.absorb(update)
            state.close()
        state.advance(len(self.X))
        return state.model.unscaled(scores if separate is None else separate)

    def _all_answered_immediately(self, queries: Sequence[Pending], arrivals: Arrivals) -> bool:
        # Then one posterior serves queries and labels.
        state = self._state
        if state.pending or state.labelled.sequential_only or len(queries) != len(arrivals.queries):
            return False
        if queries is not arrivals.queries and list(queries) != list(arrivals.queries):
            return False
        return np.array_equal(arrivals.before, self.queried + 1)


def predict_with_arrivals(gram: Posterior, X: Floats, rows: Floats, y: Floats, before: Ints) -> Floats:
    """Return ⟨θ̂, x⟩ for each x in X while labels y of `rows` arrive `before` some of them; learn them.

    With V = L⁻¹(rows M⁻¹ Xᵀ) and LLᵀ = I + the covariances of `rows`, the labels add Vᵀ L⁻¹(y − rows θ̂) to
    the scores; entries of V are set to 0 if x comes before the label.
    """
    scores = gram.scores(X)
    for piece in pieces(len(rows)):
        update = gram.update(rows[piece])
        if gram.sequential_only:  # these rows may have changed the form of M
            first, rest = before[piece.start], slice(piece.start, None)
            later = X[first:], rows[rest], y[rest], before[rest] - first
            scores[first:] = predict_between_labels(gram.scores, gram.add, *later)
            break
        gain = forward(update.L, gram.covariance(update, X))
        gain[before[piece, None] > np.arange(len(X))] = 0.0
        scores += gram.absorb(update, y[piece]) @ gain
    return np.asarray(scores)


def predict_between_labels(
    predict: Callable[[Floats], Floats],
    learn: Callable[[Floats, Any], object],
    X: Floats,
    rows: Floats,
    labels: Any,
    before: Ints,
) -> Floats:
    """Return the predictions for X while labels of `rows` arrive `before` some of them, and learn them."""
    predictions, start = np.empty(len(X)), 0
    for stop in np.unique(before).tolist():
        predictions[start:stop] = predict(X[start:stop])
        learn(rows[before == stop], labels[before == stop])
        start = stop
    predictions[start:] = predict(X[start:])
    return predictions
