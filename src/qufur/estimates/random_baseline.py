"""What would be uncertain if the same number of labels had been bought at random."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.models.base import Model
from qufur.models.lookahead import NO_ARRIVALS
from qufur.rules.thresholds import ALWAYS, NEVER

BLOCK = 256


def summed_uncertainty(model: Model, X: Floats, labels: int, seed: int) -> float:
    """Return Σ Δ over a stream of which so many examples, drawn without replacement, are labelled.

    Labels do not matter to a model whose Δ is label-free: none is told.

    >>> from qufur import Ridge
    >>> [summed_uncertainty(Ridge(1), np.ones((4, 1)), labels, seed=0) for labels in (0, 4)]
    [4.0, 2.083333333333333]
    """
    chosen = np.zeros(len(X), dtype=bool)
    chosen[np.random.default_rng(seed).choice(len(X), labels, replace=False)] = True
    state, total, start = model.start(), 0.0, 0
    while start < len(X):
        part = slice(start, start + BLOCK)
        look = state.look_ahead(X[part])
        look.decide(_Chosen(chosen[start : start + len(look)]))
        total += float(look.uncertainty.sum())
        look.finish((start + look.queried).tolist(), NO_ARRIVALS)
        start += len(look)
    return total


class _Chosen:
    """Terms on which the chosen rows are bought, and no others."""

    def __init__(self, chosen: Bools) -> None:
        self.lowest_threshold = np.where(chosen, ALWAYS, NEVER)
        self.thresholds, self.labels_left = self.lowest_threshold[None], np.array([np.inf])

    def buy(self, row: int, uncertainty: float) -> bool:
        return False

    def record_purchases(self, rows: int | slice | Ints, paying: Bools) -> bool:
        return False
