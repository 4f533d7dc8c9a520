"""QuFUR with an adaptive α, which follows the remaining labels and examples to spend the whole budget."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints, as_number, greater, lesser, set_fields
from qufur.errors import invalid
from qufur.rules.base import MAX_BURST, BudgetOrRate, as_floor
from qufur.rules.piecewise import SEGMENT, PiecewiseSpending
from qufur.rules.spending import Charge, Spending
from qufur.rules.thresholds import ALWAYS, threshold_of


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


class Remainder(Pacing):
    """Spending of a budget over a known horizon; `level` is the running mean of Δ²."""

    saved_fields = (*Pacing.saved_fields, "level")
    power = 1.5
    rule: Paced
    horizon: int

    def __init__(self, rule: Paced) -> None:
        self.level = 0.0
        super().__init__(rule, rule.horizon)

    def update(self, uncertainty: Sequence[float]) -> None:
        """Update the running mean with weight 4/(t + 4), or 2/(examples left + 2) towards the end."""
        level = self.level
        for t, width in enumerate(uncertainty, self.seen):
            left = self.horizon - t if t < self.horizon else 0
            weight = 4 / (t + 4) if t + 4 < 2 * (left + 2) else 2 / (left + 2)
            level += weight * (width * width - level)
        self.level = level

    def next_alpha(self) -> float:
        """Return α with αΔ^1.5 = √(pace · trade); ∞ if the remaining budget covers every example.

        Let r be the labels left per example left, n the labels bought of B, and D̄ the running mean of Δ². The
        pace is r φ Δ²/D̄. On a homogeneous stream Δ is proportional to 1/n; then multiplying r by
        φ = (B³ − n³)/(3n²(B − n)) spends exactly the remaining labels. The trade is
        2r (labels left/2)^(1 − n/B) Δ, which starts as B²Δ/T.
        """
        total, bought, left = self.rule.budget, self.spent, self.rule.budget - self.spent
        examples = max(self.horizon - self.seen, 1)
        if left >= examples - self.length() + 1:
            return math.inf
        rate = left / examples
        trade = 2 * rate * max(1.0, left / 2) ** (1 - bought / total)
        if self.level <= 0 or left == 0:
            return float(trade)
        n = max(bought, 1)
        phi = max(1.0, (total**3 - n**3) / (3 * n**2 * left))
        alpha = math.sqrt(rate * phi / self.level * trade)
        near_the_end = examples <= 0.1 * self.horizon or left >= examples / 2
        return max(alpha, 1.05 * rate / self.level**0.75) if near_the_end else alpha


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


@dataclass(frozen=True)
class Paced(BudgetOrRate):
    """Spend a budget over a stream, about as well as QuFUR(α) with the best α in hindsight.

    With a budget B and a horizon T, the probability is the geometric mean of two terms, updated at fixed
    positions from the labels and examples left. The pace term, proportional to Δ², would spend exactly the
    remaining labels on a homogeneous stream. The trade term, proportional to Δ, falls geometrically as labels
    are spent, whatever the inputs are, and so keeps a reserve. Towards the end the remaining labels are spent
    evenly, so that the whole budget is used. After the horizon only leftover labels are bought, and the
    budget is never exceeded.

    With a rate ρ, labels are tokens in a bucket that refills at rate ρ and holds at most `burst`: no window
    of n examples has more than ρn + burst labels, not counting retracted ones. A retracted query counts as if
    it had not been made; a token that was refilled since is not refunded a second time.

    Parameters
    ----------
    budget
        B, an integer of at least 1; or, without a horizon, the rate ρ, a float above 0 and at most 1.
    horizon
        T ≥ 1, the length of the stream.
    burst
        With a rate: maximum number of labels beyond ρn, above 32ρ + 1. Default: 1000ρ + 32.
    floor
        Minimum probability while labels are left, in [0, B/T) or in [0, ρ). It keeps the error measurable
        where Δ is small.

    Examples
    --------
    >>> from qufur import Learner, Ridge, run, streams
    >>> stream = streams.HiddenDomains([500, 500], [6, 2], seed=1)
    >>> run(Learner(Ridge(8), Paced(100, 1000)), stream).queries
    100
    """

    burst: float | None = field(default=None, kw_only=True)
    floor: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burst is not None:
            if self.horizon is not None:
                raise invalid("burst", "Paced", "given with a rate only", repr(self.burst))
            smallest = SEGMENT * self.budget + 1
            burst = as_number(self.burst, "burst", "Paced", low=smallest, high=MAX_BURST)
            set_fields(self, burst=burst)
        set_fields(self, floor=as_floor(self.floor, "Paced", self.share))

    def start(self) -> Spending:
        return Bucket(self) if self.horizon is None else Remainder(self)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Paced]:
        budget = max(1, horizon // 10)
        return [cls(budget, horizon), cls(max(1, horizon // 2), 2 * horizon), cls(0.2, burst=10.0, floor=0.1)]
