"""Spending states with probability αΔ^γ and an adaptive α: the base class, and a token bucket for rates."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, Ints, greater, lesser
from qufur.rules.piecewise import SEGMENT, PiecewiseSpending
from qufur.rules.spending import Charge
from qufur.rules.thresholds import ALWAYS, threshold_of

if TYPE_CHECKING:
    from qufur.rules.paced import Paced


class Pacing(PiecewiseSpending):
    """Spending with query probability min(1, αΔ^γ); α is updated at fixed positions of the stream.

    Attributes
    ----------
    power
        γ.
    alpha
        α until the next position; ∞ if every label is bought.
    """

    saved_fields = (*PiecewiseSpending.saved_fields, "alpha")
    power = 1.0
    alpha: float

    @abstractmethod
    def next_alpha(self) -> float:
        """Return α for the segment that begins."""

    def update_rate(self) -> None:
        self.alpha = self.next_alpha()

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        if self.alpha == math.inf:
            return np.ones(np.shape(uncertainty))
        return greater(self.rule.floor, lesser(1.0, self.alpha * uncertainty**self.power))

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        if self.alpha == math.inf:
            return np.full(np.shape(coins), ALWAYS)
        return threshold_of(coins, self.alpha ** (1 / self.power), self.power, self.rule.floor)


MAX_TOKENS = 2**53
"""Largest number of tokens; above it, adding one token has no effect in float64."""


def default_burst(rate: float) -> float:
    """Return the default burst: the labels of a thousand examples, plus 32."""
    return 1000 * rate + SEGMENT


class Bucket(Pacing):
    """Token bucket for a rate ρ: each example adds ρ tokens, and the bucket holds at most `capacity`.

    The tokens of a segment are added at its end, so a window of n examples can also receive the tokens of 31
    earlier examples. `capacity` is smaller than the documented burst by this amount.

    For each earlier position, consider a bucket that was full there and has had no capacity limit since. The
    actual number of tokens is the minimum over these hypothetical buckets. This holds for every set of
    queries, so any query can be refunded at any time: the buckets of the positions up to it gain one token.
    A position is dropped when a later one has at most as many tokens: it can no longer attain the minimum.
    """

    def __init__(self, rule: Paced) -> None:
        self.rate = rule.budget
        burst = default_burst(self.rate) if rule.burst is None else rule.burst
        self.capacity = burst - (SEGMENT - 1) * self.rate
        self._since, self._tokens = np.array([0]), np.array([self.capacity])
        super().__init__(rule)

    @property
    def tokens(self) -> float:
        """The current number of tokens."""
        return float(self._tokens[0])

    @property
    def left(self) -> int:
        """Number of labels that may be bought immediately."""
        return int(self.tokens)

    def next_alpha(self) -> float:
        """Return 2ρ (capacity/2)^(tokens/capacity), which falls geometrically as tokens are spent."""
        return float(2 * self.rate * max(1.0, self.capacity / 2) ** (self.tokens / self.capacity))

    def update(self, uncertainty: Sequence[float]) -> None:
        tokens = self._tokens + self.rate * len(uncertainty)
        self._keep(np.append(self._since, self.seen + len(uncertainty)), np.append(tokens, self.capacity))

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        if spent:
            self._tokens = self._tokens - spent
        super().record(charged, spent, uncertainty)

    def refund(self, charge: Charge) -> None:
        super().refund(charge)
        self._keep(self._since, self._tokens + (self._since <= charge.place))

    def save(self) -> dict[str, Any]:
        *earlier, (_, tokens) = zip(self._since.tolist(), self._tokens.tolist(), strict=True)
        return super().save() | {"tokens": tokens, "earlier": [list(pair) for pair in earlier]}

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        # files written by older versions have no earlier positions
        since, tokens = zip(*values.get("earlier", []), (self.seen, values["tokens"]), strict=True)
        self._since, self._tokens = np.array(since), np.array(tokens)

    def _keep(self, since: Ints, tokens: Floats) -> None:
        """Keep the positions that have fewer tokens than all later ones, and the last."""
        later_minimum = np.minimum.accumulate(tokens[::-1])[::-1]
        kept = np.append(tokens[:-1] < later_minimum[1:], True)
        self._since, self._tokens = since[kept], tokens[kept]
