"""Greedy querying: every label until the budget is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats, Ints, as_count, set_fields
from qufur.rules.base import Domains, Rule
from qufur.rules.thresholds import ALWAYS


@dataclass(frozen=True)
class Greedy(Rule):
    """Query the first `budget` examples and none after (the naive greedy baseline of the paper).

    Parameters
    ----------
    budget
        B ≥ 1, the number of labels.

    Examples
    --------
    >>> Greedy(10).probability(np.array([0.1, 0.7]), None)
    array([1., 1.])
    """

    single = True
    random = False
    budget: int

    def __post_init__(self) -> None:
        set_fields(self, budget=as_count(self.budget, "budget", "Greedy"))

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        return np.ones(np.shape(uncertainty))

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return np.full(np.shape(coins), ALWAYS)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Greedy:
        return cls(budget)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Greedy]:
        return [cls(max(1, horizon // 3))]
