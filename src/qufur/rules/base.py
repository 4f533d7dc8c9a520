"""Base class of query rules, and checks of budgets, rates and floors."""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Floats, Ints, as_count, as_number, is_integer, set_fields
from qufur.errors import invalid
from qufur.rules.spending import Spending
from qufur.rules.thresholds import bisect_threshold

Domains = tuple[Sequence[int], Sequence[int]]
"""T_u and d_u of every domain."""
MAX_BURST = 2**53
"""Largest burst of a rate; above it, adding one label has no effect in float64."""


class Rule(ABC):
    """Base class of query rules: maps uncertainties to query probabilities and limits the number of labels.

    A rule has no state: it is a frozen dataclass, and `probability` defines it completely. Most rules are a
    single *copy*. A rule that runs several copies in parallel (`FixedBudget`) returns one row of
    probabilities per copy, and a label is bought if at least one copy with budget left queries it. A rule
    that changes along the stream (`Paced`, `Steady`) starts its own subclass of `Spending`.

    `probability` must not decrease as the uncertainty increases: the exact block look-ahead relies on it.
    """

    random: ClassVar[bool] = True
    """Whether a copy uses one uniform draw per example. If not, it queries where its probability is 1."""
    single: ClassVar[bool] = False
    """Whether `probability` and `thresholds` also accept scalars, which makes `ask` faster."""
    told_domain: ClassVar[bool] = False
    """Whether the caller must pass the domain of each example."""
    budget: int | None
    floor: float = 0.0
    """Minimum query probability while labels are left, so that the error remains measurable everywhere."""

    @property
    def share(self) -> float | None:
        """The share of the stream that the rule aims to label; None if it has no such target."""
        return None

    @property
    def limit(self) -> int | None:
        """Total number of labels that the rule may buy; None without a limit."""
        return self.budget

    @abstractmethod
    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        """Return the query probability of each example while labels are left, shape (n,) or (copies, n)."""

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        """Return the Δ above which each uniform draw lies below the query probability.

        Decisions use these thresholds: −1 queries the example for every Δ, ∞ for none. This default inverts
        `probability` by bisection, which is correct for every rule but slow; subclasses override it with a
        closed form.

        Parameters
        ----------
        coins
            Uniform draws, of shape (copies, n).
        domain
            Domain of each example, or None.
        """
        return bisect_threshold(lambda uncertainty: self.probability(uncertainty, domain), coins)

    def caps(self) -> Floats:
        """Return the number of labels that each copy may buy."""
        return np.array([math.inf if self.limit is None else self.limit], dtype=np.float64)

    def check_domain(self, domain: Ints | None) -> None:
        """Raise `InvalidError` for domains that the rule cannot use. Runs before any state changes."""
        if self.told_domain and domain is None:
            raise invalid("domain", type(self).__name__, "given for every example", "None")

    def start(self) -> Spending:
        """Return a new state with nothing spent."""
        return Spending(self)

    def with_more(self, labels: int, horizon: int | None) -> Rule:
        """Return the rule with a larger budget.

        Parameters
        ----------
        labels
            Number of labels to add.
        horizon
            New horizon, for rules that have one; otherwise None.
        """
        owner = type(self).__name__
        if self.limit is None:
            remedy = "A share grows with the number of examples."
            raise invalid("budget", owner, "a count of labels to be added to", "none", remedy)
        if horizon is not None:
            raise invalid("horizon", owner, "left out: this rule has no horizon", horizon)
        return dataclasses.replace(self, budget=self.limit + labels)  # type: ignore[type-var]

    @classmethod
    @abstractmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Rule | Callable[[float], Rule]:
        """Return the rule that spends a budget over a stream, for comparisons at equal budget.

        If the rule has a parameter that must be tuned by simulation, return a function from this parameter
        to the rule, capped at the budget. A larger parameter spends more.
        """

    @classmethod
    @abstractmethod
    def examples(cls, horizon: int) -> Sequence[Rule]:
        """Return small instances for streams of length `horizon`; the contract checks run them."""


def as_budget(budget: Any, owner: str) -> int | None:
    """Return a validated budget: None or an integer of at least 1."""
    if budget is None:
        return None
    remedy = "It counts labels; a share of the stream is share * horizon."
    return as_count(budget, "budget", owner, remedy=remedy)


@dataclasses.dataclass(frozen=True)
class BudgetOrRate(Rule):
    """Base class of rules that spend a budget over a horizon or, without a horizon, keep a rate in (0, 1].

    Their probabilities depend on the examples seen so far, so their own subclass of `Spending` computes them.
    """

    single = True
    budget: Any
    horizon: int | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.horizon is not None:
            horizon = as_count(self.horizon, "horizon", owner)
            remedy = "It counts labels; a rate takes no horizon."
            set_fields(self, horizon=horizon, budget=as_count(self.budget, "budget", owner, remedy=remedy))
            return
        if is_integer(self.budget):
            remedy = "Pass the length of the stream, or a rate such as 0.05; 1.0 labels every example."
            raise invalid("horizon", owner, "given with a budget", "None", remedy)
        set_fields(self, budget=as_number(self.budget, "rate", owner, low=0, high=1))

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

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> Rule:
        return cls(budget, horizon)


def as_floor(floor: Any, owner: str, share: float) -> float:
    """Return a floor in [0, share): a floor equal to the share would spend the whole budget by itself."""
    is_real = isinstance(floor, numbers.Real) and not isinstance(floor, bool)
    if not (is_real and 0 <= floor < share):
        allowed = f"at least 0 and below {share:g}"
        remedy = "" if share == 1 else "A floor equal to the budget's share leaves no label to choose."
        raise invalid("floor", owner, allowed, repr(floor), remedy)
    return float(floor)
