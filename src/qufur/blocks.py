"""Blocks of inputs decided in one look-ahead, and the adaptive block size; it affects speed only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.ids import Id
from qufur.models.lookahead import BlockCost, BlockLimits, Lookahead
from qufur.pending import Pending
from qufur.rules.spending import BlockOffer, Spending


class BlockQueries(Sequence[Pending]):
    """Records of the queries of a block, created at their first use.

    `run` with immediate labels needs none for a linear model; creating them would take half as long as its
    decisions.
    """

    def __init__(
        self, names: Sequence[Id], rows: Ints, probability: Floats, offers: Sequence[BlockOffer]
    ) -> None:
        self._names, self._rows, self._probability, self._offers = names, rows, probability, offers

    @cached_property
    def _records(self) -> list[Pending]:
        charges = [charge for offer in self._offers for charge in offer.paid()]
        columns = self._rows.tolist(), self._probability[self._rows].tolist(), charges
        return [
            Pending(self._names[row], math.nan, probability, probability, charge=charge)
            for row, probability, charge in zip(*columns, strict=True)
        ]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._records[index]

    def __iter__(self) -> Iterator[Pending]:
        return iter(self._records)


@dataclass(frozen=True)
class Block:
    """Consecutive inputs whose queries are decided; `Learner._finish` computes their predictions.

    Attributes
    ----------
    look
        The look-ahead of the model.
    effort
        Rows, candidates and queries of the block.
    query, probability
        The decision and its probability for each row.
    queries
        Records of the queried rows; `Learner._finish` adds prediction and largest loss.
    offers
        One offer of the rule for each segment between two of its updates.
    """

    look: Lookahead
    effort: BlockCost
    query: Bools
    probability: Floats
    queries: Sequence[Pending]
    offers: Sequence[BlockOffer]

    def __len__(self) -> int:
        return len(self.query)

    @property
    def uncertainty(self) -> Floats:
        """Δ of each row."""
        return self.look.uncertainty

    @property
    def at_random(self) -> Bools:
        """For each query, whether its uniform draw was below the rule's floor."""
        return np.asarray(_concatenate([offer.at_random for offer in self.offers]))

    @property
    def spent(self) -> Ints:
        """Labels bought before each row."""
        counts = [offer.spent + _queries_before(offer.query) for offer in self.offers]
        return np.asarray(_concatenate(counts))

    @property
    def left(self) -> Ints | None:
        """Labels left before each row; None without a budget."""
        limited = [(offer.left, offer.query) for offer in self.offers if offer.left is not None]
        return _concatenate([left - _queries_before(query) for left, query in limited]) if limited else None


def decide(
    look: Lookahead, names: Sequence[Id], spending: Spending, rng: np.random.Generator, domain: Ints | None
) -> Block:
    """Decide the inputs of a look-ahead; the rule makes a new offer after each of its updates."""
    offers, probability = [], []
    start, effort = 0, BlockCost(0, 0, 0)
    while start < len(look):
        count = look.rows_at_once or len(look) - start
        domains = None if domain is None else domain[start : start + count]
        offer = spending.offer(count, rng, domains)
        effort += look.decide(offer)
        stop = start + len(offer)
        probability.append(offer.close(look.uncertainty[start:stop]))
        offers.append(offer)
        start = stop
    query, p = _concatenate([offer.query for offer in offers]), _concatenate(probability)
    queries = BlockQueries(names, query.nonzero()[0], p, offers)
    return Block(look, effort, query, p, queries, offers)


def columns(blocks: Sequence[Block]) -> dict[str, Any]:
    """Return the columns of `Answers` that describe the decisions of zero or more consecutive blocks."""
    dtypes: dict[str, type] = {
        "uncertainty": float,
        "probability": float,
        "query": bool,
        "at_random": bool,
        "spent": int,
    }
    if all(block.left is not None for block in blocks):
        dtypes["left"] = int
    return {"left": None} | {
        name: np.concatenate([np.empty(0, dtype), *(getattr(block, name) for block in blocks)])
        for name, dtype in dtypes.items()
    }


def _concatenate(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _queries_before(query: Bools) -> Ints:
    return np.asarray(query.cumsum() - query)


class BlockSize:
    """Adaptive number of examples per look-ahead. It affects speed, never results.

    Beyond a fixed cost per row, the cost of a block grows with the square and the cube of its number of
    candidates, so a block should have some 50 to 100 of them, on a GPU a thousand. After an abrupt
    shift Δ collapses within a few queries: most candidates of a large block are then rejected, and
    their products are wasted.

    Parameters
    ----------
    limits
        Smallest, first and largest size, and how many candidates are few and many.
    fixed
        A constant size instead.
    """

    def __init__(self, limits: BlockLimits, fixed: int | None = None) -> None:
        self._few, self._many = limits.few, limits.many
        self.smallest = limits.smallest if fixed is None else fixed
        self.value = limits.first if fixed is None else fixed
        self.largest = limits.largest if fixed is None else fixed

    def update(self, effort: BlockCost) -> None:
        """Double or halve the size, depending on how many candidates the last block rejected."""
        rejected = effort.candidates - effort.queries
        if 4 * rejected > effort.rows or effort.candidates > self._many:
            self.value = max(self.smallest, self.value // 2)
        elif 8 * rejected <= effort.rows and effort.candidates <= self._few:
            self.value = min(self.largest, self.value * 2)
