"""QuFUR with an adaptive α, which follows the remaining labels and examples to spend the whole budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from qufur.arrays import as_number, set_fields
from qufur.errors import invalid
from qufur.rules.base import BudgetOrRate, as_floor
from qufur.rules.pacing import MAX_TOKENS, Bucket, Pacing
from qufur.rules.piecewise import SEGMENT
from qufur.rules.spending import Spending


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
            burst = as_number(self.burst, "burst", "Paced", low=smallest, high=MAX_TOKENS)
            set_fields(self, burst=burst)
        set_fields(self, floor=as_floor(self.floor, "Paced", self.share))

    def start(self) -> Spending:
        return Bucket(self) if self.horizon is None else Remainder(self)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Paced]:
        budget = max(1, horizon // 10)
        return [cls(budget, horizon), cls(max(1, horizon // 2), 2 * horizon), cls(0.2, burst=10.0, floor=0.1)]


class Remainder(Pacing):
    """Spending of a budget over a known horizon; `level` is the running mean of Δ²."""

    saved_fields = (*Pacing.saved_fields, "level")
    power = 1.5
    horizon: int

    def __init__(self, rule: Paced) -> None:
        self.level = 0.0
        super().__init__(rule, rule.horizon)

    @property
    def total(self) -> int:
        """The budget B."""
        return self.rule.budget or 0

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
        bought, left = self.spent, self.total - self.spent
        examples = max(self.horizon - self.seen, 1)
        if left >= examples - self.length() + 1:
            return math.inf
        rate = left / examples
        trade = 2 * rate * max(1.0, left / 2) ** (1 - bought / self.total)
        if self.level <= 0 or left == 0:
            return float(trade)
        n = max(bought, 1)
        phi = max(1.0, (self.total**3 - n**3) / (3 * n**2 * left))
        alpha = math.sqrt(rate * phi / self.level * trade)
        near_the_end = examples <= 0.1 * self.horizon or left >= examples / 2
        return max(alpha, 1.05 * rate / self.level**0.75) if near_the_end else alpha
