"""What a rule is."""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Floats, Ints, as_count, as_number, is_whole
from qufur.errors import invalid
from qufur.rules.spending import Spending
from qufur.rules.thresholds import bisected

Domains = tuple[Sequence[int], Sequence[int]]
"""T_u and d_u of every domain."""


class Rule(ABC):
    """Turns uncertainties into query probabilities, and says how many labels may be bought.

    A rule is a description without state: a frozen dataclass whose `probability` is the whole rule. Most
    rules are a single *copy*; one that runs several side by side (`FixedBudget`) gives a row of probabilities
    for each, and a label is bought when at least one copy that has budget left wants it. A rule that changes
    as the stream goes on (`Paced`, `Steady`) starts a `Spending` of its own.

    `probability` must not fall as the uncertainty rises: the exact block look-ahead rests on it.
    """

    random: ClassVar[bool] = True
    """Whether a copy throws one coin per example. Without coins it queries where its probability is 1."""
    single: ClassVar[bool] = False
    """Whether `probability` and `thresholds` take single numbers as well as arrays: `ask` is then faster."""
    told_domain: ClassVar[bool] = False
    """Whether the rule must be told the domain of each example."""
    budget: int | None
    floor: float = 0.0
    """The least probability of any example while labels are left: what is never asked is never checked."""

    @property
    def share(self) -> float | None:
        """The share of a stream that the rule means to label, where it says so."""
        return None

    @property
    def limit(self) -> int | None:
        """How many labels may be bought in all, or None if there is no such number."""
        return self.budget

    @abstractmethod
    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        """Return the query probability of each example, shape (n,) or (copies, n), before labels run out."""

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        """Return the Δ above which each coin, of shape (copies, n), lies below the query probability.

        It is where decisions come from: −1 where the label is wanted whatever Δ is, ∞ where it never is. This
        one inverts `probability` by bisection, which is right for every rule and slow; rules know better.
        """
        return bisected(lambda uncertainty: self.probability(uncertainty, domain), coins)

    def caps(self) -> Floats:
        """Return how many labels each copy may buy."""
        return np.array([math.inf if self.limit is None else self.limit], dtype=np.float64)

    def check_domain(self, domain: Ints | None) -> None:
        """Refuse domains that the rule cannot use, before anything has changed."""
        if self.told_domain and domain is None:
            raise invalid("domain", type(self).__name__, "given for every example", "None")

    def start(self) -> Spending:
        """Return the state of a learner that has spent nothing."""
        return Spending(self)

    def with_more(self, labels: int, horizon: int | None) -> Rule:
        """Return the rule with so many labels more; `horizon` is for those that have one."""
        owner = type(self).__name__
        if self.limit is None:
            remedy = "A share grows with the examples by itself."
            raise invalid("budget", owner, "a count of labels to be added to", "none", remedy)
        if horizon is not None:
            raise invalid("horizon", owner, "left out: what is added has no end", horizon)
        return dataclasses.replace(self, budget=self.limit + labels)  # type: ignore[type-var]

    @classmethod
    @abstractmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Rule | Callable[[float], Rule]:
        """Return the rule that spends a budget over a stream, for comparisons at equal budget.

        A rule with a parameter that only trying out can set is returned as a function of it, capped at the
        budget; a larger parameter spends more.
        """

    @classmethod
    @abstractmethod
    def examples(cls, horizon: int) -> Sequence[Rule]:
        """Return small instances, meant for streams of length `horizon`, for the contract checks."""


def as_budget(budget: Any, owner: str) -> int | None:
    """Return a budget, which is None or a whole number of at least 1."""
    if budget is None:
        return None
    remedy = "It counts labels; a share of the stream is share * horizon."
    return as_count(budget, "budget", owner, remedy=remedy)


class BudgetOrRate(Rule):
    """A rule that spends a budget over a horizon, or keeps to a rate where there is none.

    What it does depends on what has been seen: its probabilities are those of a `Spending` of its own.
    """

    budget: Any
    horizon: int | None

    @property
    def share(self) -> float:
        return min(1.0, float(self.budget) / (self.horizon or 1))

    @property
    def limit(self) -> int | None:
        return None if self.horizon is None else self.budget

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        return self.start().probability(uncertainty, domain)

    def with_more(self, labels: int, horizon: int | None) -> Rule:
        more = super().with_more(labels, None)
        return dataclasses.replace(more, horizon=horizon)  # type: ignore[type-var]


def as_budget_or_rate(budget: Any, horizon: Any, owner: str) -> tuple[int | float, int | None]:
    """Return a budget, a whole number that goes with a horizon, or a rate in (0, 1] that goes without."""
    if horizon is not None:
        horizon = as_count(horizon, "horizon", owner)
        remedy = "It counts labels; a rate goes without a horizon."
        return as_count(budget, "budget", owner, remedy=remedy), horizon
    if is_whole(budget):
        remedy = "Say how many examples will come, or give a rate such as 0.05; that of all is 1.0."
        raise invalid("horizon", owner, "given with a budget", "None", remedy)
    return as_number(budget, "rate", owner, low=0, high=1), None


def as_floor(floor: Any, owner: str, share: float) -> float:
    """Return a floor of at least 0 that does not by itself spend the share of the stream that is paid for."""
    real = isinstance(floor, numbers.Real) and not isinstance(floor, bool)
    if not (real and 0 <= floor < share):
        allowed = f"at least 0 and below {share:g}"
        remedy = (
            ""
            if share == 1
            else "At the share of the stream that the budget pays for, nothing is left to choose."
        )
        raise invalid("floor", owner, allowed, repr(floor), remedy)
    return float(floor)
