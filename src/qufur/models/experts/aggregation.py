"""Exponential weights with fixed share: experts that did well count, and the best one may change."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats, check_shapes

RATE = 2.0
SHARE = 0.01
HEAVIEST = 5.0
"""The most examples that one loss stands for."""


class Aggregation:
    """Weights of experts, from the losses of what each said when an example came.

    After a loss a weight is multiplied by exp(−η·loss); a small share of the whole is then handed out anew,
    as it was at first, so that an expert that was bad can come back.

    Parameters
    ----------
    prior
        The weights before any loss; they sum up to 1.

    Examples
    --------
    >>> aggregation = Aggregation(np.array([0.5, 0.5]))
    >>> aggregation.update(np.array([0.0, 1.0]), 1.0)
    >>> aggregation.weights.round(3)
    array([0.877, 0.123])
    """

    def __init__(self, prior: Floats) -> None:
        self.prior = prior
        self.weights = prior.copy()

    def update(self, losses: Floats, importance: float) -> None:
        """Take in the losses of all experts on one example, which stands for p̄/p of them."""
        rate = RATE * min(HEAVIEST, importance)
        weights = self.weights * np.exp(-rate * (losses - losses.min()))
        self.weights = (1 - SHARE) * weights / weights.sum() + SHARE * self.prior

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        return {"weights": self.weights}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned."""
        check_shapes(arrays, {"weights": "e"}, e=len(self.prior))
        self.weights = arrays["weights"]
