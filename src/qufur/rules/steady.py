"""A budget for tables: an even pace with a front, and half of the labels at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from qufur.arrays import as_number, set_fields
from qufur.errors import invalid
from qufur.rules.base import BudgetOrRate, Domains, as_budget_or_rate
from qufur.rules.bucket import MOST_TOKENS
from qufur.rules.spending import Spending
from qufur.rules.steady_spending import AtRate, WithFront

BURST = 10


@dataclass(frozen=True)
class Steady(BudgetOrRate):
    """Spend a budget evenly, half of it at random: no drift and no wrong model can do much harm.

    The probability is min(1, r(½ + ½Δ/Δ̄)), with Δ̄ the running mean of Δ. So about half of the labels are a
    uniform sample, and Δ chooses the others within the pace r, which is set anew at fixed positions. The
    first example is bought for sure: before its first label a model knows nothing of the labels' size.

    With a budget B and a horizon T, r = (labels left / examples left)(1 + 3e^(−8n/B)), n being bought: first
    faster, so that a model is there soon, then evenly. The whole budget is spent, and never exceeded; beyond
    the horizon only what is left over is bought.

    With a rate ρ there is no front. Labels follow ρn, and after n examples no more than ρn + burst were ever
    bought, those that were retracted not counted. A rate of 1 buys every label.

    Parameters
    ----------
    budget
        B, an integer of at least 1; or, without a horizon, the rate ρ, a float above 0 and at most 1.
    horizon
        T ≥ 1, how many examples will come.
    burst
        With a rate: the most labels beyond ρn, at least 1; 10 unless it is given.

    Examples
    --------
    >>> from qufur import Learner, Ridge, run, streams
    >>> stream = streams.HiddenDomains([500, 500], [6, 2], seed=1)
    >>> run(Learner(Ridge(8), Steady(100, 1000)), stream).queries
    100
    """

    single = True
    budget: Any
    horizon: int | None = None
    burst: float = field(default=BURST, kw_only=True)

    def __post_init__(self) -> None:
        budget, horizon = as_budget_or_rate(self.budget, self.horizon, "Steady")
        set_fields(self, budget=budget, horizon=horizon)
        burst = as_number(self.burst, "burst", "Steady", low=0, high=MOST_TOKENS)
        if burst < 1:
            raise invalid("burst", "Steady", "at least 1", repr(self.burst))
        if horizon is not None and burst != BURST:
            raise invalid("burst", "Steady", "given with a rate only", repr(self.burst))
        set_fields(self, burst=burst)

    def start(self) -> Spending:
        return AtRate(self) if self.horizon is None else WithFront(self, self.horizon)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Steady:
        return cls(budget, horizon)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Steady]:
        few = max(1, horizon // 10)
        return [cls(few, horizon), cls(max(1, horizon // 2), 2 * horizon), cls(0.2, burst=5.0), cls(0.7)]
