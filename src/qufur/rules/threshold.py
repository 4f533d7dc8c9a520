"""Threshold querying: the limit of QuFUR at large power, without coins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from qufur.arrays import Floats, Ints, as_number, set_fields
from qufur.rules.base import Domains, Rule, as_budget
from qufur.rules.thresholds import ALWAYS

SLACK = 2e-6


@dataclass(frozen=True)
class Threshold(Rule):
    """Query exactly where Δ reaches a level; not in the paper.

    Duplicates make Δ land on the level up to rounding: it is 1, 1/2, 1/3, … as an input of norm 1 comes
    again. Computed one by one or in blocks it must fall on the same side, so the comparison has a slack of
    2e-6, twice what Δ may be off by, relative to itself, in the worst of cases.

    Parameters
    ----------
    level
        Δ > 0 from which on a label is bought.
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
        return np.where(uncertainty >= self._reached, 1.0, 0.0)

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return np.full(np.shape(coins), math.nextafter(self._reached, ALWAYS))

    @property
    def _reached(self) -> float:
        return self.level * (1 - SLACK)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Callable[[float], Rule]:
        return lambda scale: cls(1 / scale, budget=budget)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[Threshold]:
        return [cls(0.5), cls(0.05, budget=max(1, horizon // 10))]
