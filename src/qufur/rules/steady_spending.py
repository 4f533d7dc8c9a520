"""Spending at a rate, half of it at random and half where Δ is above its mean."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, Ints, lesser
from qufur.rules.base import Rule
from qufur.rules.stretches import Stretches
from qufur.rules.thresholds import reached_by_line

if TYPE_CHECKING:
    from qufur.rules.steady import Steady

AT_RANDOM = 0.5
"""The share of the rate that Δ has no part in."""
FRONT, DECAY = 3.0, 8.0
"""How much faster than evenly a budget is spent at first, and how fast that ends as labels go."""
SLOWEST_WEIGHT = 0.01
"""That of one example in the mean of Δ, once the stream is under way."""
SMALLEST_MEAN = 1e-150
"""Below it nothing is uncertain, and Δ over its mean might be no number."""
LARGEST_CATCH_UP = 4.0
"""How many times the rate labels are bought at where there are fewer than it allows."""


class SteadySpending(Stretches):
    """Query with probability min(1, r(½ + ½Δ/Δ̄)), r and Δ̄ being set anew at fixed positions.

    Attributes
    ----------
    mean
        Δ̄, the running mean of Δ as of the last position.
    base, slope
        Of the probability as a line over Δ, until the next one.
    """

    base: float
    slope: float

    def __init__(self, rule: Rule, horizon: int | None) -> None:
        self.mean = 0.0
        super().__init__(rule, horizon)

    @abstractmethod
    def next_rate(self) -> float:
        """Return r for the stretch that begins; ∞ where every label is bought."""

    def set_anew(self) -> None:
        rate = self.next_rate() if self.seen else math.inf  # a model without a label says nothing
        if self.mean < SMALLEST_MEAN or rate == math.inf:
            self.base, self.slope = min(1.0, rate), 0.0
        else:
            self.base, self.slope = min(1.0, AT_RANDOM * rate), (1 - AT_RANDOM) * rate / self.mean

    def take_in(self, uncertainty: Sequence[float]) -> None:
        """Follow the mean with weights of 1/t, and of 1/100 from the hundredth example on."""
        for t, width in enumerate(uncertainty, self.seen + 1):
            self.mean += max(1 / t, SLOWEST_WEIGHT) * (width - self.mean)

    @property
    def floor(self) -> float:
        return self.base

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        if not self.slope:
            return np.full(np.shape(uncertainty), self.base)
        return lesser(1.0, self.base + self.slope * uncertainty)

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return reached_by_line(coins, self.base, self.slope)

    def save(self) -> dict[str, Any]:
        own = {"mean": self.mean, "base": self.base, "slope": self.slope}
        return super().save() | own

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        self.mean, self.base, self.slope = (values[name] for name in ("mean", "base", "slope"))


class WithFront(SteadySpending):
    """A budget over a known horizon: evenly, and faster at first."""

    horizon: int

    def next_rate(self) -> float:
        """Return (labels left / examples left)(1 + 3e^(−8n/B)), with n labels bought."""
        left, examples = self.left or 0, max(self.horizon - self.seen, 1)
        if left >= examples - self.length() + 1:
            return math.inf
        return left / examples * (1 + FRONT * math.exp(-DECAY * self.spent / (self.rule.budget or 1)))


class AtRate(SteadySpending):
    """A rate ρ without an end: after n examples no more than ρn + burst labels are bought."""

    def __init__(self, rule: Steady) -> None:
        self.share, self.burst = rule.share, rule.burst
        super().__init__(rule, None)

    @property
    def left(self) -> int:
        """Labels that may be bought at once: those that are allowed as of the last position."""
        return math.floor(self._allowed) - self.spent

    @property
    def labels_left(self) -> Floats:
        return np.array([self.left], dtype=np.float64)

    def length(self) -> int:
        """Let no stretch be expected to buy more than a quarter of the burst: it cannot use its own share."""
        return max(1, min(super().length(), int(self.burst / (4 * self.share))))

    def next_rate(self) -> float:
        """Return ρ(ρn + burst − bought)/burst: ρ on the way of ρn labels, and 0 where no more may be bought.

        That is (ρ(n + H) − bought)/H, which would be back on the way after H = burst/ρ examples. Where every
        label is wanted, none that is missed can be made up for.
        """
        if self.share == 1:
            return math.inf
        return self.share * min(LARGEST_CATCH_UP, (self._allowed - self.spent) / self.burst)

    @property
    def _allowed(self) -> float:
        return self.share * self.seen + self.burst
