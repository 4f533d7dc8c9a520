"""Rule at a constant rate with a warm-up: half of the labels at random, half in proportion to Δ."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from qufur.arrays import Floats, Ints, as_number, lesser, set_fields
from qufur.errors import invalid
from qufur.rules.base import MAX_BURST, BudgetOrRate, Rule
from qufur.rules.piecewise import PiecewiseSpending
from qufur.rules.spending import Spending
from qufur.rules.thresholds import linear_threshold

RANDOM_SHARE = 0.5
"""Share of the rate that does not depend on Δ."""
WARMUP, DECAY = 3.0, 8.0
"""Extra rate at the start, in multiples of the constant rate, and its decay per budget spent."""
SLOWEST_WEIGHT = 0.01
"""Minimum weight of a new example in the running mean of Δ."""
SMALLEST_MEAN = 1e-150
"""Below this mean every Δ is treated as 0, since Δ/Δ̄ could overflow."""
MAX_CATCH_UP = 4.0
"""Maximum rate, in multiples of ρ, when fewer labels were bought than the rate allows."""


class SteadySpending(PiecewiseSpending):
    """Spending with query probability min(1, r(½ + ½Δ/Δ̄)); r and Δ̄ are updated at fixed positions.

    Attributes
    ----------
    mean
        Δ̄, the running mean of Δ at the last position.
    base, slope
        Intercept and slope of the probability as a linear function of Δ, until the next position.
    """

    saved_fields = (*PiecewiseSpending.saved_fields, "mean", "base", "slope")
    base: float
    slope: float

    def __init__(self, rule: Rule, horizon: int | None) -> None:
        self.mean = 0.0
        super().__init__(rule, horizon)

    @abstractmethod
    def next_rate(self) -> float:
        """Return r for the segment that begins; ∞ if every label is bought."""

    def update_rate(self) -> None:
        # without a label, the uncertainty of a model has no scale
        rate = self.next_rate() if self.seen else math.inf
        if self.mean < SMALLEST_MEAN or rate == math.inf:
            self.base, self.slope = min(1.0, rate), 0.0
        else:
            self.base, self.slope = min(1.0, RANDOM_SHARE * rate), (1 - RANDOM_SHARE) * rate / self.mean

    def update(self, uncertainty: Sequence[float]) -> None:
        """Update the mean with weight 1/t, and 1/100 from the hundredth example."""
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
        return linear_threshold(coins, self.base, self.slope)


class WarmupSpending(SteadySpending):
    """Spending of a budget over a known horizon: at a constant rate, after a faster warm-up."""

    horizon: int

    def next_rate(self) -> float:
        """Return (labels left / examples left)(1 + 3e^(−8n/B)) after n labels."""
        left, examples = self.left or 0, max(self.horizon - self.seen, 1)
        if left >= examples - self.length() + 1:
            return math.inf
        return left / examples * (1 + WARMUP * math.exp(-DECAY * self.spent / (self.rule.budget or 1)))


class RateSpending(SteadySpending):
    """Spending at a rate ρ without a horizon: at most ρn + burst labels after n examples."""

    def __init__(self, rule: Steady) -> None:
        self.share, self.burst = rule.share, rule.burst
        super().__init__(rule, None)

    @property
    def left(self) -> int:
        """Number of labels that the rate allows at the last position, less those bought."""
        return math.floor(self._allowed) - self.spent

    def length(self) -> int:
        """Limit the expected labels of a segment to burst/4: its own share is added only at its end."""
        return max(1, min(super().length(), int(self.burst / (4 * self.share))))

    def next_rate(self) -> float:
        """Return ρ(ρn + burst − bought)/burst: ρ after exactly ρn labels, and 0 at the limit.

        This equals (ρ(n + H) − bought)/H with H = burst/ρ, the rate that returns to ρn labels after H
        examples. At ρ = 1 every label is bought, since a missed label cannot be compensated.
        """
        if self.share == 1:
            return math.inf
        return self.share * min(MAX_CATCH_UP, (self._allowed - self.spent) / self.burst)

    @property
    def _allowed(self) -> float:
        return self.share * self.seen + self.burst


BURST = 10
"""Default of `burst`."""


@dataclass(frozen=True)
class Steady(BudgetOrRate):
    """Spend a budget evenly, half of it at random, which limits the harm of drift and of a wrong model.

    The probability is min(1, r(½ + ½Δ/Δ̄)), with Δ̄ the running mean of Δ. About half of the labels are a
    uniform sample, and Δ selects the others at the rate r, which is updated at fixed positions. The first
    example is always queried: before its first label a model has no estimate of the scale of the labels.

    With a budget B and a horizon T, r = (labels left / examples left)(1 + 3e^(−8n/B)) after n labels: faster
    at the start, so that the model is useful early, then constant. The whole budget is spent and never
    exceeded; after the horizon only leftover labels are bought.

    With a rate ρ there is no warm-up. The number of labels follows ρn and is at most ρn + burst after n
    examples, not counting retracted labels. A rate of 1 buys every label.

    Parameters
    ----------
    budget
        B, an integer of at least 1; or, without a horizon, the rate ρ, a float above 0 and at most 1.
    horizon
        T ≥ 1, the length of the stream.
    burst
        With a rate: maximum number of labels beyond ρn, at least 1. Default: 10.

    Examples
    --------
    >>> from qufur import Learner, Ridge, run, streams
    >>> stream = streams.HiddenDomains([500, 500], [6, 2], seed=1)
    >>> run(Learner(Ridge(8), Steady(100, 1000)), stream).queries
    100
    """

    burst: float = field(default=BURST, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        burst = as_number(self.burst, "burst", "Steady", low=0, high=MAX_BURST)
        if burst < 1:
            raise invalid("burst", "Steady", "at least 1", repr(self.burst))
        if self.horizon is not None and burst != BURST:
            raise invalid("burst", "Steady", "given with a rate only", repr(self.burst))
        set_fields(self, burst=burst)

    def start(self) -> Spending:
        return RateSpending(self) if self.horizon is None else WarmupSpending(self, self.horizon)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Steady]:
        budget = max(1, horizon // 10)
        return [cls(budget, horizon), cls(max(1, horizon // 2), 2 * horizon), cls(0.2, burst=5.0), cls(0.7)]
