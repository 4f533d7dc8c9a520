"""QuFUR(α): query in the face of uncertainty (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from qufur.arrays import Floats, Ints, as_number, greater, lesser, set_fields
from qufur.rules.base import Domains, Rule, as_budget, as_floor
from qufur.rules.thresholds import threshold_of


@dataclass(frozen=True)
class QuFUR(Rule):
    """Query with probability min(1, (αΔ)^γ); γ = 1 is the paper's Algorithm 1.

    Parameters
    ----------
    alpha
        α > 0, labels per unit of uncertainty. Queries grow as √α and regret falls as 1/√α (Theorem 1).
    power
        γ > 0. Not in the paper. For γ → ∞ the rule becomes a threshold at Δ = 1/α.
    budget
        Hard cap on the number of labels; None for no cap.
    floor
        Minimum probability while labels are left, in [0, 1). Not in the paper. It keeps the error measurable
        where Δ is small.

    Examples
    --------
    >>> import numpy as np
    >>> QuFUR(2.0).probability(np.array([0.1, 0.7]), None)
    array([0.2, 1. ])
    """

    single = True
    alpha: float
    power: float = field(default=1.0, kw_only=True)
    budget: int | None = field(default=None, kw_only=True)
    floor: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        set_fields(
            self,
            alpha=as_number(self.alpha, "alpha", "QuFUR", low=0),
            power=as_number(self.power, "power", "QuFUR", low=0),
            budget=as_budget(self.budget, "QuFUR"),
            floor=as_floor(self.floor, "QuFUR", 1.0),
        )

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        p = lesser(1.0, self.alpha * uncertainty)
        p = p if self.power == 1.0 else p**self.power
        return greater(self.floor, p) if self.floor else p

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return threshold_of(coins, self.alpha, self.power, self.floor)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Callable[[float], Rule]:
        return lambda alpha: cls(alpha, budget=budget)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[QuFUR]:
        return [cls(1.0), cls(3.0, budget=max(1, horizon // 10)), cls(2.0, power=3.0), cls(0.3, floor=0.1)]
