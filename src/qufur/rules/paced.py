"""A budget that is spent: QuFUR whose α follows the labels and the examples that are left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from qufur.arrays import as_number, set_fields
from qufur.errors import invalid
from qufur.rules.base import BudgetOrRate, Domains, as_budget_or_rate, as_floor
from qufur.rules.bucket import MOST_TOKENS, Bucket
from qufur.rules.paced_spending import Pacing
from qufur.rules.spending import Spending
from qufur.rules.stretches import STRETCH


@dataclass(frozen=True)
class Paced(BudgetOrRate):
    """Spend a budget over a stream, about as well as QuFUR(α) with the α that hindsight would choose.

    With a budget B and a horizon T the probability is the geometric mean of two, set anew at fixed positions
    from the labels and examples left. One, in proportion to Δ², keeps pace: on a stream of one kind it would
    just spend the rest. The other, in proportion to Δ, trades: it falls geometrically as labels go, whatever
    comes, so that something is kept. Towards the end what is left is spent evenly, so that the whole budget
    is. Beyond the horizon only what is left over is bought, and the budget is never exceeded.

    With a rate ρ: labels are tokens that come back at rate ρ, and at most `burst` are kept, so that no window
    of n examples has more than ρn + burst labels, retracted ones aside. What is retracted stands as if it had
    not been bought; a token that had come back since is not given a second time.

    Parameters
    ----------
    budget
        B, an integer of at least 1; or, without a horizon, the rate ρ, a float above 0 and at most 1.
    horizon
        T ≥ 1, how many examples will come.
    burst
        With a rate: the most labels beyond ρn, above 32ρ + 1; 1000ρ + 32 by default.
    floor
        In [0, B/T), or in [0, ρ): the probability is at least this while labels are left, so that the error
        stays measurable where Δ is small.

    Examples
    --------
    >>> from qufur import Learner, Ridge, run, streams
    >>> stream = streams.HiddenDomains([500, 500], [6, 2], seed=1)
    >>> run(Learner(Ridge(8), Paced(100, 1000)), stream).queries
    100
    """

    single = True
    budget: Any
    horizon: int | None = None
    burst: float | None = field(default=None, kw_only=True)
    floor: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        budget, horizon = as_budget_or_rate(self.budget, self.horizon, "Paced")
        set_fields(self, budget=budget, horizon=horizon)
        if self.burst is not None:
            set_fields(self, burst=self._checked_burst())
        set_fields(self, floor=as_floor(self.floor, "Paced", self.share))

    def _checked_burst(self) -> float:
        if self.horizon is not None:
            raise invalid("burst", "Paced", "given with a rate only", repr(self.burst))
        least = STRETCH * self.budget + 1
        return as_number(self.burst, "burst", "Paced", low=least, high=MOST_TOKENS)

    def start(self) -> Spending:
        return Bucket(self) if self.horizon is None else Remainder(self)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Paced:
        return cls(budget, horizon)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Paced]:
        few = max(1, horizon // 10)
        return [cls(few, horizon), cls(max(1, horizon // 2), 2 * horizon), cls(0.2, burst=10.0, floor=0.1)]


class Remainder(Pacing):
    """The pace of a known horizon; `level` is the running level of Δ²."""

    power = 1.5
    horizon: int

    def __init__(self, rule: Paced) -> None:
        self.level = 0.0
        super().__init__(rule, rule.horizon)

    @property
    def total(self) -> int:
        """B."""
        return self.rule.budget or 0

    def take_in(self, uncertainty: Sequence[float]) -> None:
        """Follow the level with weights of 4/(t + 4), and of 2/(examples left + 2) towards the end."""
        level = self.level
        for t, width in enumerate(uncertainty, self.seen):
            left = self.horizon - t if t < self.horizon else 0
            weight = 4 / (t + 4) if t + 4 < 2 * (left + 2) else 2 / (left + 2)
            level += weight * (width * width - level)
        self.level = level

    def next_alpha(self) -> float:
        """Return α with αΔ^1.5 = √(pace · trade); ∞ where every example is needed to spend the rest.

        With r labels left per example left, n of B bought, and D̄ the level of Δ²: pace is r φ Δ²/D̄. Were Δ in
        proportion to 1/n, as on a stream of one kind, the rest would just be spent if r is multiplied by
        φ = (B³ − n³)/(3n²(B − n)). Trade is 2r (labels left/2)^(1 − n/B) Δ, which starts as B²Δ/T.
        """
        bought, left = self.spent, self.total - self.spent
        examples = max(self.horizon - self.seen, 1)
        if left >= examples - self.length() + 1:
            return math.inf
        rate = left / examples
        trade = 2 * rate * max(1.0, left / 2) ** (1 - bought / self.total)
        if self.level <= 0 or left == 0:
            return float(trade)
        some = max(bought, 1)
        front = max(1.0, (self.total**3 - some**3) / (3 * some**2 * left))
        alpha = math.sqrt(rate * front / self.level * trade)
        near_the_end = examples <= 0.1 * self.horizon or left >= examples / 2
        return max(alpha, 1.05 * rate / self.level**0.75) if near_the_end else alpha

    def save(self) -> dict[str, Any]:
        return super().save() | {"level": self.level}

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        self.level = values["level"]
