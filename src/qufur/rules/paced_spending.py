"""Spending that changes its α at fixed positions of the stream."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints, greater, lesser
from qufur.rules.base import Rule
from qufur.rules.spending import Spending
from qufur.rules.thresholds import ALWAYS, reached

STRETCH = 32
"""Examples between two positions, once the stream is under way."""


class Pacing(Spending):
    """Query with probability min(1, αΔ^γ), with an α that is set anew at fixed positions of the stream.

    The positions are 1, 2, 4, 8, 16, 32, and then every 32nd example. What the examples of a stretch say is
    taken in at its end, all at once, so that nothing depends on how the stretch was cut into blocks.

    Attributes
    ----------
    power
        γ.
    seen
        Examples up to the last position.
    alpha
        α until the next one; ∞ where every label is bought.
    """

    power = 1.0
    seen: int
    alpha: float

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self._stretch: list[float] = []
        self._begin_stretch(0)

    @abstractmethod
    def next_alpha(self) -> float:
        """Return α for the stretch that begins."""

    def take_in(self, uncertainty: Sequence[float]) -> None:
        """Learn from the uncertainties of the stretch that ends; `seen` is where it began."""

    def length(self) -> int:
        """Return how many examples the stretch has that begins at `seen`."""
        return STRETCH if self.seen >= STRETCH else max(1, self.seen)

    @property
    def ahead(self) -> int:
        return self._length - len(self._stretch)

    @property
    def place(self) -> int:
        return self.seen + len(self._stretch)

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        if self.alpha == math.inf:
            return np.ones(np.shape(uncertainty))
        return greater(self.rule.floor, lesser(1.0, self.alpha * uncertainty**self.power))

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        if self.alpha == math.inf:
            return np.full(np.shape(coins), ALWAYS)
        return reached(coins, self.alpha ** (1 / self.power), self.power, self.rule.floor)

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        super().record(charged, spent, uncertainty)
        self._stretch += uncertainty
        if len(self._stretch) == self._length:
            self.take_in(self._stretch)
            self._stretch = []
            self._begin_stretch(self.seen + self._length)

    def save(self) -> dict[str, Any]:
        own = {"seen": self.seen, "stretch": self._stretch, "alpha": self.alpha}
        return super().save() | own

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        self.seen, self._stretch, self.alpha = (values[name] for name in ("seen", "stretch", "alpha"))
        self._length = self.length()

    def _begin_stretch(self, seen: int) -> None:
        self.seen = seen
        self._length = self.length()
        self.alpha = self.next_alpha()
