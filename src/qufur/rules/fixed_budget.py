"""Fixed-budget QuFUR (Algorithm 2, and Algorithm 4 over a non-linear model)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qufur.arrays import Floats, Ints, as_count, set_fields
from qufur.errors import invalid
from qufur.rules.base import Domains, Rule


@dataclass(frozen=True)
class FixedBudget(Rule):
    """Run K copies of QuFUR with α_i = 2^i / T², i = 0..K−1, each with ⌊B/K⌋ labels.

    A label is bought if at least one copy with labels left queries it. The paper writes k = ⌈3 log₂ T⌉
    and then lets i run from 0 to k with ⌊B/k⌋ labels each: that is k + 1 copies, which can exceed B. Here
    K = ⌈3 log₂ T⌉ + 1 copies share B, so Q ≤ B holds by construction. In practice the rule leaves most of B
    unspent: it is the reference from the paper, not the best use of a budget.

    Parameters
    ----------
    budget
        B, at least K.
    horizon
        T ≥ 1, the length of the stream.

    Examples
    --------
    >>> rule = FixedBudget(budget=100, horizon=1000)
    >>> rule.copies, rule.caps()[0].item()
    (31, 3.0)
    """

    budget: int
    horizon: int

    def __post_init__(self) -> None:
        set_fields(
            self,
            horizon=as_count(self.horizon, "horizon", "FixedBudget"),
            budget=as_count(self.budget, "budget", "FixedBudget"),
        )
        if self.budget < self.copies:
            allowed = f"at least {self.copies} for horizon {self.horizon}"
            remedy = (
                f"A smaller budget gives no copy a label: use QuFUR(alpha, budget={self.budget}) instead."
            )
            raise invalid("budget", "FixedBudget", allowed, self.budget, remedy)

    @property
    def copies(self) -> int:
        """K = ⌈3 log₂ T⌉ + 1."""
        # T³ ≤ 2^k in integer arithmetic: rounding up a logarithm could add a copy at powers of two.
        return (self.horizon**3 - 1).bit_length() + 1

    @property
    def share(self) -> float:
        return min(1.0, self.budget / self.horizon)

    def caps(self) -> Floats:
        return np.full(self.copies, float(self.budget // self.copies))

    @cached_property
    def alphas(self) -> Floats:
        """α_i = 2^i / T² of every copy."""
        return np.ldexp(1.0 / self.horizon**2, np.arange(self.copies))

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        return np.minimum(1.0, np.multiply.outer(self.alphas, uncertainty))

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return np.asarray(coins / self.alphas[:, None])

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> FixedBudget:
        return cls(budget, horizon)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[FixedBudget]:
        min_budget = (horizon**3 - 1).bit_length() + 1
        return [cls(min_budget, horizon), cls(3 * min_budget, horizon)]
