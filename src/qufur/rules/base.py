"""What a rule is, and the one place where coins are thrown and budgets kept."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Bools, Floats, Ints, as_count
from qufur.errors import invalid

Domains = tuple[Sequence[int], Sequence[int]]
"""T_u and d_u of every domain."""


class Rule(ABC):
    """Turns uncertainties into query probabilities, and says how many labels may be bought.

    A rule is a description without state: a frozen dataclass whose `probability` is the whole rule. Most
    rules are a single *copy*; one that runs several side by side (`FixedBudget`) gives a row of probabilities
    for each, and a label is bought when at least one copy that has budget left wants it. A rule that changes
    as the stream goes on (`Paced`) starts a `Spending` of its own.

    `probability` must not fall as the uncertainty rises: the exact block look-ahead rests on it.
    """

    random: ClassVar[bool] = True
    """Whether a copy throws one coin per example. Without coins it queries where its probability is 1."""
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


def as_budget(budget: int | None, owner: str) -> None:
    """Refuse a budget that is neither None nor a whole number of at least 1."""
    if budget is not None:
        as_count(
            budget, "budget", owner, remedy="It counts labels; a share of the stream is share * horizon."
        )


def as_floor(floor: Any, owner: str, share: float) -> None:
    """Refuse a floor below 0, or one that would spend the share of the stream that is paid for by itself."""
    real = isinstance(floor, numbers.Real) and not isinstance(floor, bool)
    if not (real and 0 <= floor < share):
        allowed = f"at least 0 and below {share:g}"
        remedy = (
            ""
            if share == 1
            else "At the share of the stream that the budget pays for, nothing is left to choose."
        )
        raise invalid("floor", owner, allowed, repr(floor), remedy)


class Spending:
    """What a rule has spent: all the state it has.

    A subclass may let the probability depend on what has been seen, but only as of fixed positions of the
    stream: `ahead` says how far the next one is, and no block goes beyond it. Then decisions do not depend on
    how the stream is cut into blocks.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.caps = rule.caps()
        self.charged = np.zeros(len(self.caps))
        self.spent = 0

    @property
    def left(self) -> int | None:
        """Labels that may still be bought, or None without a budget."""
        return None if self.rule.limit is None else self.rule.limit - self.spent

    @property
    def ahead(self) -> int | None:
        """How many examples can be decided before the rule changes; None if it never does."""
        return None

    @property
    def room(self) -> Floats:
        """How many labels each copy may buy until the rule changes."""
        return np.asarray(self.caps - self.charged)

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        """Return the query probability of each example, as the rule stands now."""
        return self.rule.probability(uncertainty, domain)

    def offer(self, count: int, rng: np.random.Generator, domain: Ints | None) -> Offer:
        """Throw the coins of the next `count` examples: one per copy and example, copy 0 first."""
        coins = rng.random((count, len(self.caps))).T if self.rule.random else None
        return Offer(self, count, coins, domain)

    def book(self, charges: Bools, uncertainty: Floats) -> None:
        """Take note of examples that were decided: who pays for which, and their uncertainties."""
        self.charged += charges.sum(axis=1)
        self.spent += int(charges.any(axis=0).sum())

    def refund(self, charge: Bools) -> None:
        """Take back one query that these copies paid for."""
        self.charged -= charge
        self.spent -= 1

    def save(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {"charged": self.charged.tolist(), "spent": self.spent}

    def restore(self, values: dict[str, Any]) -> None:
        """Take over a state that `save` returned."""
        self.charged, self.spent = np.array(values["charged"]), values["spent"]


class Offer:
    """The coins of a block of upcoming examples, and what is decided about them."""

    def __init__(self, spending: Spending, count: int, coins: Floats | None, domain: Ints | None) -> None:
        self._spending = spending
        self._coins = coins
        self._domain = domain
        self._room = spending.room[:, None]
        self.charges = np.zeros((len(self._room), count), dtype=bool)

    @property
    def query(self) -> Bools:
        """Which examples are queried."""
        return np.asarray(self.charges.any(axis=0))

    def may_query(self, uncertainty: Floats) -> Bools:
        """Return which examples a copy with labels left would query, whatever the others do.

        With upper bounds of the uncertainties these contain every query: what is bought on the way only
        takes copies out.
        """
        wants = self._coins_below(self._probability(uncertainty, slice(None)), slice(None))
        return np.asarray((wants & (self._room > 0)).any(axis=0))

    def charges_for(self, uncertainty: Floats, rows: Ints) -> Bools:
        """Return which copies pay for each of these rows, the only ones that may query."""
        wants = self._coins_below(self._probability(uncertainty, rows), rows)
        earlier = wants.cumsum(axis=1) - wants
        return np.asarray(wants & (earlier < self._room))

    def charge(self, rows: Ints, charges: Bools) -> None:
        """Make these the charges of the block."""
        self.charges[:, rows] = charges

    def close(self, uncertainty: Floats) -> Floats:
        """Book the block with the rule and return the probability with which each example was queried."""
        earlier = self.charges.cumsum(axis=1) - self.charges
        p = np.where(earlier < self._room, self._probability(uncertainty, slice(None)), 0.0)
        self._spending.book(self.charges, uncertainty)
        return p[0] if len(p) == 1 else np.asarray(1.0 - np.prod(1.0 - p, axis=0))

    def _probability(self, uncertainty: Floats, rows: slice | Ints) -> Floats:
        domain = None if self._domain is None else self._domain[rows]
        return np.atleast_2d(self._spending.probability(uncertainty, domain))

    def _coins_below(self, p: Floats, rows: slice | Ints) -> Bools:
        return np.asarray(p >= 1.0 if self._coins is None else self._coins[:, rows] < p)
