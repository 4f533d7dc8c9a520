"""The one place where coins are thrown and budgets kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.rules.thresholds import LARGEST_COIN, NEVER

if TYPE_CHECKING:
    from qufur.rules.base import Rule


class Charge(NamedTuple):
    """What a query cost: the copies that paid for it, and its place in the stream where the rule has one."""

    copies: Bools
    place: int


PAID, NOTHING = np.array([True]), Charge(np.array([False]), 0)
"""What a single copy pays for one example, and the charge of one passed over; never written to."""


class Spending:
    """What a rule has spent: all the state it has.

    A subclass may let the probability depend on what has been seen, but only as of fixed positions of the
    stream: `ahead` says how far the next one is, and no offer goes beyond it. Then decisions do not depend on
    how the stream is cut into blocks.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.limit = rule.limit
        self.caps = rule.caps()
        self.charged = np.zeros(len(self.caps))
        self.spent = 0

    @property
    def left(self) -> int | None:
        """Labels that may still be bought, or None without a budget."""
        return None if self.limit is None else self.limit - self.spent

    @property
    def ahead(self) -> int | None:
        """How many examples can be decided before the rule changes; None if it never does."""
        return None

    @property
    def place(self) -> int:
        """How many examples came before the next, for rules that refund by it; 0 for the others."""
        return 0

    def places(self, first: int, rows: Ints) -> list[int]:
        """Return the places of examples that come so many after one, where the rule has any."""
        return [0] * len(rows)

    @property
    def floor(self) -> float:
        """The least probability of any example while labels are left, as the rule stands now.

        It is 0 where no single coin decides.
        """
        return self.rule.floor if self.rule.random and len(self.caps) == 1 else 0.0

    @property
    def labels_left(self) -> Floats:
        """How many labels each copy may buy until the rule changes."""
        return np.asarray(self.caps - self.charged)

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        """Return the query probability of each example, as the rule stands now."""
        return self.rule.probability(uncertainty, domain)

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        """Return the Δ above which each coin lies below the probability, as the rule stands now."""
        return self.rule.thresholds(coins, domain)

    def enter(self, domain: Ints | None) -> None:
        """Take note of the domain that the next example is of, for rules that change with it."""

    def offer(self, count: int, rng: np.random.Generator, domain: Ints | None) -> BlockOffer:
        """Throw the coins of the next examples: one per copy and example, copy 0 first.

        They are `count`, or fewer if the rule changes before.
        """
        count = self.until_change(count, domain)
        return BlockOffer(self, self._coins(count, rng), None if domain is None else domain[:count])

    def until_change(self, count: int, domain: Ints | None) -> int:
        """Return how many of the next `count` examples there are before the rule changes."""
        return count if self.ahead is None else min(count, self.ahead)

    def _coins(self, count: int, rng: np.random.Generator) -> Floats:
        shape = count, len(self.caps)
        # A rule without coins queries where its probability is 1: where the largest coin lies below it.
        return (rng.random(shape) if self.rule.random else np.full(shape, LARGEST_COIN)).T

    def decide_one(
        self, uncertainty: float, rng: np.random.Generator, domain: Ints | None
    ) -> tuple[bool, float, Charge, bool]:
        """Decide one example: the same as an offer of one, and faster if there is a single copy.

        Returns whether it is queried, with which probability, who pays, and whether it is `at_random`.
        """
        place = self.place
        if not self.rule.single:
            offer, row = self.offer(1, rng, domain), np.array([uncertainty])
            if uncertainty > offer.lowest_threshold[0]:
                offer.buy(0, uncertainty)
            probability, charge = offer.close(row).item(), Charge(offer.charges[:, 0], place)
            return bool(offer.query[0]), probability, charge, bool(offer.at_random.any())
        coin: Any = rng.random() if self.rule.random else LARGEST_COIN
        left, probability = self.left, 0.0
        if left is None or left > 0:
            probability = float(self.probability(uncertainty, domain))  # type: ignore[arg-type]
            if uncertainty > self.thresholds(coin, domain):
                at_random = coin < self.floor
                self.record(1, 1, [uncertainty])
                return True, probability, Charge(PAID, place), at_random
        self.record(0, 0, [uncertainty])
        return False, probability, NOTHING, False

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        """Take note of examples that were decided: what each copy paid for, and their uncertainties."""
        if spent:
            self.charged += charged
            self.spent += spent

    def replay(
        self,
        uncertainty: Floats,
        query: Bools,
        copies: Bools,
        rng: np.random.Generator,
        domain: Ints | None,
    ) -> list[Charge]:
        """Take over what was decided of the next examples; coins are thrown as then, and not looked at.

        Parameters
        ----------
        uncertainty, query
            Of each example.
        copies
            Which copies paid for each query.
        rng, domain
            As for `offer`.

        Returns
        -------
        list
            The charge of each query.
        """
        charges: list[Charge] = []
        start = 0
        while start < len(query):
            place = self.place
            stop = start + self.until_change(len(query) - start, None if domain is None else domain[start:])
            self._coins(stop - start, rng)
            rows = query[start:stop].nonzero()[0]
            paid = copies[len(charges) : len(charges) + len(rows)]
            charges.extend(map(Charge, paid, self.places(place, rows)))
            self.record(paid.sum(axis=0), len(rows), uncertainty[start:stop].tolist())
            start = stop
        return charges

    def refund(self, charge: Charge) -> None:
        """Take back one query."""
        self.charged -= charge.copies
        self.spent -= 1

    def add(self, labels: int, rows: int | None = None) -> None:
        """Let so many labels more be bought.

        Parameters
        ----------
        labels
            At least 1. A rule without a count of labels refuses.
        rows
            For rules with a horizon: over how many examples from now on what is left is spent. By default
            those up to the horizon, or beyond it as many as keep the pace.
        """
        self.take_over(self.rule.with_more(labels, rows))

    def take_over(self, rule: Rule) -> None:
        """Go on with another budget."""
        self.rule, self.limit, self.caps = rule, rule.limit, rule.caps()

    def save(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {"charged": self.charged.tolist(), "spent": self.spent}

    def restore(self, values: dict[str, Any]) -> None:
        """Take over a state that `save` returned."""
        self.charged, self.spent = np.array(values["charged"]), values["spent"]


class BlockOffer:
    """The coins of some upcoming examples, and what is decided about them, one after the other.

    Attributes
    ----------
    spent, left
        Labels bought and left before them.
    thresholds
        For each copy and example, the Δ above which it wants the label.
    charges
        Which copies paid for each example.
    """

    def __init__(self, spending: Spending, coins: Floats, domain: Ints | None) -> None:
        self._spending = spending
        self._domain = domain
        self._coins, self._floor = coins, spending.floor
        self.spent, self.left, self._place = spending.spent, spending.left, spending.place
        self.thresholds = spending.thresholds(coins, domain)
        self.charges = np.zeros(coins.shape, dtype=bool)
        self._left_before = spending.labels_left
        self._bought = np.zeros(len(coins))
        self._sure = 0.0

    def __len__(self) -> int:
        return len(self.charges[0])

    @property
    def query(self) -> Bools:
        """Which examples are queried."""
        return self.charges[0] if len(self.charges) == 1 else np.asarray(self.charges.any(axis=0))

    @property
    def at_random(self) -> Bools:
        """For each query, whether its coin lay below the floor: it was bought whatever its Δ is.

        While labels are left, each example is among these with the probability of the floor, by the same coin
        that decides about it. They are a sample of the stream that no Δ has chosen.
        """
        return np.asarray(self._coins[0, self.query] < self._floor)

    @property
    def labels_left(self) -> Floats:
        """How many labels each copy may still buy, an array of its own."""
        return np.asarray(self._left_before - self._bought)

    @property
    def lowest_threshold(self) -> Floats:
        """For each example, the lowest Δ above which a copy wants the label and can pay for it."""
        if self._sure <= 0:
            self._retire_exhausted()
        return self._lowest_threshold

    def paid(self) -> Iterator[Charge]:
        """Return the charge of each query."""
        rows = self.query.nonzero()[0]
        return map(Charge, self.charges.T[rows], self._spending.places(self._place, rows))

    def buy(self, row: int, uncertainty: float) -> bool:
        """Buy the label of an example that is wanted; return whether `lowest_threshold` has changed since."""
        if self._sure <= 0:
            self._retire_exhausted()
        paying = PAID if len(self.charges) == 1 else self.thresholds[:, row] < uncertainty
        return self.record_purchases(row, paying)

    def record_purchases(self, rows: int | slice | Ints, paying: Bools) -> bool:
        """Take note of which copies pay for one row, or for each of several; return what `buy` does."""
        if len(self.charges) == 1:
            # NumPy takes long over one number in an array.
            self.charges[0, rows] = paying[0]
            most = int(paying[0]) if paying.ndim == 1 else np.count_nonzero(paying)
            self._bought[0] += most
        else:
            self.charges[:, rows] = paying
            bought = paying if paying.ndim == 1 else self.charges[:, rows].sum(axis=1)
            most = int(bought.max())
            self._bought += bought
        self._sure -= most
        return self._sure <= 0

    def _retire_exhausted(self) -> None:
        """Let copies that have no label left want none; so many purchases on, there may be more of them."""
        left = self.labels_left
        exhausted = left <= 0
        self._sure = float(left.min(where=~exhausted, initial=np.inf))
        self.thresholds[exhausted] = NEVER
        self._lowest_threshold = (
            self.thresholds[0] if len(self.thresholds) == 1 else np.asarray(self.thresholds.min(axis=0))
        )

    def close(self, uncertainty: Floats) -> Floats:
        """Record the examples with the rule; return the probability with which each example was queried."""
        spending, single = self._spending, len(self.charges) == 1
        p = spending.probability(uncertainty, self._domain)
        left = self.labels_left
        if left.min() <= 0:
            p = self._mask_exhausted(np.atleast_2d(p), left <= 0)
        bought = int(np.count_nonzero(self.query))
        spending.record(bought if single else self._bought, bought, uncertainty.tolist())
        return np.asarray(p.reshape(-1) if single else 1.0 - np.prod(1.0 - p, axis=0))

    def _mask_exhausted(self, p: Floats, exhausted: Bools) -> Floats:
        """Let copies take no part from where they have no label left."""
        before = self._left_before
        p = np.where(before[:, None] > 0, p, 0.0)
        for copy in (exhausted & (before > 0)).nonzero()[0]:
            paid = self.charges[copy]
            p[copy, paid.cumsum() - paid >= before[copy]] = 0.0
        return p
