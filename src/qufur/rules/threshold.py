"""Threshold querying: the deterministic limit of QuFUR at large power."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from qufur.arrays import Floats, Ints, as_number, set_fields
from qufur.rules.base import Domains, Rule, as_budget
from qufur.rules.thresholds import ALWAYS

SLACK = 2e-6
"""Relative tolerance of the comparison with the level."""


@dataclass(frozen=True)
class Threshold(Rule):
    """Query exactly where Δ reaches a level; not in the paper.

    With duplicates Δ can equal the level up to rounding: it is 1, 1/2, 1/3, … as an input of norm 1 repeats.
    Row-by-row and block computation must decide alike, so the comparison has a relative tolerance of 2e-6,
    twice the worst-case relative error of Δ.

    Parameters
    ----------
    level
        Δ > 0 at and above which a label is bought.
    budget
        Hard cap on the number of labels; None for no cap.

    Examples
    --------
    >>> Threshold(0.5).probability(np.array([0.1, 0.5, 0.7]), None)
    array([0., 1., 1.])
    """

    single = True
    random = False
    level: float
    budget: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_fields(
            self,
            level=as_number(self.level, "level", "Threshold", low=0),
            budget=as_budget(self.budget, "Threshold"),
        )

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        return np.where(uncertainty >= self._lowest, 1.0, 0.0)

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return np.full(np.shape(coins), math.nextafter(self._lowest, ALWAYS))

    @property
    def _lowest(self) -> float:
        return self.level * (1 - SLACK)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Callable[[float], Rule]:
        return lambda scale: cls(1 / scale, budget=budget)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Threshold]:
        return [cls(0.5), cls(0.05, budget=max(1, horizon // 10))]
