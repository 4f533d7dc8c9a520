"""State of a rule: random draws, decisions, and labels charged to the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.rules.thresholds import LARGEST_DRAW, NEVER

if TYPE_CHECKING:
    from qufur.rules.base import Rule


class Charge(NamedTuple):
    """Cost of a query: the copies that paid for it, and its position in the stream if the rule tracks it."""

    copies: Bools
    place: int


PAID, NOTHING = np.array([True]), Charge(np.array([False]), 0)
"""Payment of a single copy for one query, and the charge of an example without a query; read-only."""


class Spending:
    """State of a rule: labels charged so far, per copy.

    The probability of a subclass may depend on the examples seen, but may change only at fixed positions of
    the stream. `ahead` is the distance to the next position, and no offer extends beyond it, so decisions do
    not depend on how the stream is divided into blocks.
    """

    saved_fields: ClassVar[tuple[str, ...]] = ("spent",)
    """Names of the attributes that `save` stores unchanged."""

    def __init__(self, rule: Rule) -> None:
        self.set_rule(rule)
        self.charged = np.zeros(len(self.caps))
        self.spent = 0

    @property
    def left(self) -> int | None:
        """Number of labels left; None without a budget."""
        return None if self.limit is None else self.limit - self.spent

    @property
    def ahead(self) -> int | None:
        """Number of examples before the rule changes; None if it never does."""
        return None

    @property
    def position(self) -> int:
        """Position of the next example, for rules whose refunds depend on it; 0 for other rules."""
        return 0

    def positions(self, first: int, rows: Ints) -> list[int]:
        """Return the positions of `rows` after `first`; zeros for rules that do not track positions."""
        return [0] * len(rows)

    @property
    def floor(self) -> float:
        """Current minimum query probability while labels are left; 0 unless a single draw decides."""
        return self.rule.floor if self.rule.random and len(self.caps) == 1 else 0.0

    @property
    def labels_left(self) -> Floats:
        """Number of labels that each copy may buy before the rule changes."""
        return np.asarray(self.caps - self.charged)

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        """Return the current query probability of each example."""
        return self.rule.probability(uncertainty, domain)

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        """Return the Δ above which each uniform draw lies below the current query probability."""
        return self.rule.thresholds(coins, domain)

    def enter(self, domain: Ints | None) -> None:
        """Enter the domain of the next example, for rules that change with the domain."""

    def offer(self, count: int, rng: np.random.Generator, domain: Ints | None) -> BlockOffer:
        """Draw the random numbers of the next examples: one per copy and example, copy 0 first.

        The offer has `count` examples, or fewer if the rule changes before.
        """
        count = self.until_change(count, domain)
        return BlockOffer(self, self._draws(count, rng), None if domain is None else domain[:count])

    def until_change(self, count: int, domain: Ints | None) -> int:
        """Return how many of the next `count` examples precede the next change of the rule."""
        return count if self.ahead is None else min(count, self.ahead)

    def _draws(self, count: int, rng: np.random.Generator) -> Floats:
        shape = count, len(self.caps)
        # A deterministic rule queries where its probability is 1: where it exceeds the largest possible draw.
        return (rng.random(shape) if self.rule.random else np.full(shape, LARGEST_DRAW)).T

    def decide_one(
        self, uncertainty: float, rng: np.random.Generator, domain: Ints | None
    ) -> tuple[bool, float, Charge, bool]:
        """Decide one example, like an offer of one example, but faster if there is a single copy.

        Returns
        -------
        tuple
            Whether the example is queried, its probability, its charge, and whether it is `at_random`.
        """
        self.enter(domain)
        position = self.position
        if not self.rule.single:
            offer, row = self.offer(1, rng, domain), np.array([uncertainty])
            if uncertainty > offer.lowest_threshold[0]:
                offer.buy(0, uncertainty)
            probability, charge = offer.close(row).item(), Charge(offer.charges[:, 0], position)
            return bool(offer.query[0]), probability, charge, bool(offer.at_random.any())
        draw: Any = rng.random() if self.rule.random else LARGEST_DRAW
        left, probability = self.left, 0.0
        if left is None or left > 0:
            probability = float(self.probability(uncertainty, domain))  # type: ignore[arg-type]
            if uncertainty > self.thresholds(draw, domain):
                at_random = draw < self.floor
                self.record(1, 1, [uncertainty])
                return True, probability, Charge(PAID, position), at_random
        self.record(0, 0, [uncertainty])
        return False, probability, NOTHING, False

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        """Record decided examples: the labels charged to each copy, and the uncertainties."""
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
        """Apply recorded decisions on the next examples. Advances `rng` as the original decisions did.

        Parameters
        ----------
        uncertainty, query
            Uncertainty and decision of each example.
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
            position = self.position
            stop = start + self.until_change(len(query) - start, None if domain is None else domain[start:])
            self._draws(stop - start, rng)
            rows = query[start:stop].nonzero()[0]
            paid = copies[len(charges) : len(charges) + len(rows)]
            charges.extend(map(Charge, paid, self.positions(position, rows)))
            self.record(paid.sum(axis=0), len(rows), uncertainty[start:stop].tolist())
            start = stop
        return charges

    def refund(self, charge: Charge) -> None:
        """Refund one query."""
        self.charged -= charge.copies
        self.spent -= 1

    def add(self, labels: int, rows: int | None = None) -> None:
        """Add labels to the budget.

        Parameters
        ----------
        labels
            Number of labels, at least 1.
        rows
            For rules with a horizon: number of upcoming examples over which the remaining labels are spent.
            By default those up to the horizon; after the horizon, as many as keep the rate.

        Raises
        ------
        InvalidError
            If the budget of the rule is not a count of labels.
        """
        self.set_rule(self.rule.with_more(labels, rows))

    def set_rule(self, rule: Rule) -> None:
        """Replace the rule and its budget; the spend so far is unchanged."""
        self.rule, self.limit, self.caps = rule, rule.limit, rule.caps()

    def save(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {"charged": self.charged.tolist()} | {name: getattr(self, name) for name in self.saved_fields}

    def restore(self, values: dict[str, Any]) -> None:
        """Restore the state from the result of `save`."""
        self.charged = np.array(values["charged"])
        for name in self.saved_fields:
            setattr(self, name, values[name])


class BlockOffer:
    """Random draws of a block of upcoming examples, and the decisions about them in stream order.

    Attributes
    ----------
    spent, left
        Labels bought and left before the block.
    thresholds
        For each copy and example, the Δ above which the copy queries the label.
    charges
        Which copies paid for each example.
    """

    def __init__(self, spending: Spending, draws: Floats, domain: Ints | None) -> None:
        self._spending = spending
        self._domain = domain
        self._draws, self._floor = draws, spending.floor
        self.spent, self.left, self._position = spending.spent, spending.left, spending.position
        self.thresholds = spending.thresholds(draws, domain)
        self.charges = np.zeros(draws.shape, dtype=bool)
        self._left_before = spending.labels_left
        self._bought = np.zeros(len(draws))
        self._safe_purchases = 0.0

    def __len__(self) -> int:
        return len(self.charges[0])

    @property
    def query(self) -> Bools:
        """Which examples are queried."""
        return self.charges[0] if len(self.charges) == 1 else np.asarray(self.charges.any(axis=0))

    @property
    def at_random(self) -> Bools:
        """For each query, whether its draw lies below the floor, so that it was made independently of Δ.

        While labels are left, this holds for each example with the probability of the floor, by the same draw
        that decides the query. These queries are a uniform sample of the stream, not selected by Δ.
        """
        return np.asarray(self._draws[0, self.query] < self._floor)

    @property
    def labels_left(self) -> Floats:
        """Number of labels that each copy has left, as a new array."""
        return np.asarray(self._left_before - self._bought)

    @property
    def lowest_threshold(self) -> Floats:
        """For each example, the lowest Δ above which a copy with labels left queries it."""
        if self._safe_purchases <= 0:
            self._retire_exhausted()
        return self._lowest_threshold

    def paid(self) -> Iterator[Charge]:
        """Return the charge of each query."""
        rows = self.query.nonzero()[0]
        return map(Charge, self.charges.T[rows], self._spending.positions(self._position, rows))

    def buy(self, row: int, uncertainty: float) -> bool:
        """Buy the label of a queried example; return whether `lowest_threshold` may have changed."""
        if self._safe_purchases <= 0:
            self._retire_exhausted()
        paying = PAID if len(self.charges) == 1 else self.thresholds[:, row] < uncertainty
        return self.record_purchases(row, paying)

    def record_purchases(self, rows: int | slice | Ints, paying: Bools) -> bool:
        """Record which copies pay for each of these rows; return the same flag as `buy`."""
        if len(self.charges) == 1:
            # scalar operations are faster than NumPy on one element
            self.charges[0, rows] = paying[0]
            largest = int(paying[0]) if paying.ndim == 1 else np.count_nonzero(paying)
            self._bought[0] += largest
        else:
            self.charges[:, rows] = paying
            bought = paying if paying.ndim == 1 else self.charges[:, rows].sum(axis=1)
            largest = int(bought.max())
            self._bought += bought
        self._safe_purchases -= largest
        return self._safe_purchases <= 0

    def _retire_exhausted(self) -> None:
        """Disable copies without labels, and count the purchases until another copy may run out."""
        left = self.labels_left
        exhausted = left <= 0
        self._safe_purchases = float(left.min(where=~exhausted, initial=np.inf))
        self.thresholds[exhausted] = NEVER
        self._lowest_threshold = np.asarray(self.thresholds.min(axis=0))

    def close(self, uncertainty: Floats) -> Floats:
        """Record the examples with the rule; return the query probability of each example."""
        spending, single = self._spending, len(self.charges) == 1
        p = spending.probability(uncertainty, self._domain)
        left = self.labels_left
        if left.min() <= 0:
            p = self._mask_exhausted(np.atleast_2d(p), left <= 0)
        bought = int(np.count_nonzero(self.query))
        spending.record(bought if single else self._bought, bought, uncertainty.tolist())
        return np.asarray(p.reshape(-1) if single else 1.0 - np.prod(1.0 - p, axis=0))

    def _mask_exhausted(self, p: Floats, exhausted: Bools) -> Floats:
        """Set the probabilities of a copy to 0 after its last label."""
        before = self._left_before
        p = np.where(before[:, None] > 0, p, 0.0)
        for copy in (exhausted & (before > 0)).nonzero()[0]:
            paid = self.charges[copy]
            p[copy, paid.cumsum() - paid >= before[copy]] = 0.0
        return p
