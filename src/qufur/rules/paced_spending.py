"""Spending in proportion to a power of Δ, by a factor that changes with the stream."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints, greater, lesser
from qufur.rules.stretches import Stretches
from qufur.rules.thresholds import ALWAYS, reached


class Pacing(Stretches):
    """Query with probability min(1, αΔ^γ), with an α that is set anew at fixed positions of the stream.

    Attributes
    ----------
    power
        γ.
    alpha
        α until the next position; ∞ where every label is bought.
    """

    power = 1.0
    alpha: float

    @abstractmethod
    def next_alpha(self) -> float:
        """Return α for the stretch that begins."""

    def set_anew(self) -> None:
        self.alpha = self.next_alpha()

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        if self.alpha == math.inf:
            return np.ones(np.shape(uncertainty))
        return greater(self.rule.floor, lesser(1.0, self.alpha * uncertainty**self.power))

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        if self.alpha == math.inf:
            return np.full(np.shape(coins), ALWAYS)
        return reached(coins, self.alpha ** (1 / self.power), self.power, self.rule.floor)

    def save(self) -> dict[str, Any]:
        return super().save() | {"alpha": self.alpha}

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        self.alpha = values["alpha"]
