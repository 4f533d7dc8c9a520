"""Uniform querying: the label-efficient baseline that ignores uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from qufur.arrays import Floats, Ints, as_number, set_fields
from qufur.rules.base import Domains, Rule, as_budget
from qufur.rules.spending import Spending
from qufur.rules.thresholds import linear_threshold


@dataclass(frozen=True)
class Uniform(Rule):
    """Query every example with the same probability μ (Section 3.2 of the paper).

    Parameters
    ----------
    rate
        μ in (0, 1].
    budget
        Hard cap on the number of labels; None for no cap.

    Examples
    --------
    >>> Uniform(0.3).probability(np.array([0.1, 0.7]), None)
    array([0.3, 0.3])
    """

    single = True
    rate: float
    budget: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_fields(
            self,
            rate=as_number(self.rate, "rate", "Uniform", low=0, high=1),
            budget=as_budget(self.budget, "Uniform"),
        )

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        return np.full(np.shape(uncertainty), self.rate)

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return linear_threshold(coins, self.rate, slope=0.0)

    def start(self) -> Spending:
        return UniformSpending(self)

    @property
    def share(self) -> float:
        return self.rate

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Uniform:
        return cls(min(1.0, budget / horizon), budget=budget)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Uniform]:
        return [cls(0.3), cls(0.5, budget=max(1, horizon // 10))]


class UniformSpending(Spending):
    """Spending whose labels are all a uniform random sample."""

    rule: Uniform

    @property
    def floor(self) -> float:
        return self.rule.rate
