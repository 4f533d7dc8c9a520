"""Blocks that are looked ahead over, and how far to look next: only speed depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.models.base import Id
from qufur.models.lookahead import Effort, Lookahead, Reach
from qufur.rules.spending import BlockOffer, Charge, Spending


@dataclass(frozen=True)
class Block:
    """Consecutive inputs whose queries are decided and whose predictions wait for `Learner.finish`."""

    look: Lookahead
    effort: Effort
    query: Bools
    probability: Floats
    queried: Sequence[Id]
    offers: Sequence[BlockOffer]

    def __len__(self) -> int:
        return len(self.query)

    @property
    def uncertainty(self) -> Floats:
        """Δ of each row."""
        return self.look.uncertainty

    @property
    def charges(self) -> list[Charge]:
        """What each query cost."""
        return [charge for offer in self.offers for charge in offer.paid()]

    @property
    def at_random(self) -> Bools:
        """For each query, whether its coin lay below the rule's floor."""
        return np.asarray(_chained([offer.at_random for offer in self.offers]))

    @property
    def spent(self) -> Ints:
        """Labels bought before each row."""
        return np.asarray(_chained([offer.spent + _earlier(offer.query) for offer in self.offers]))

    @property
    def left(self) -> Ints | None:
        """Labels left before each row, if they are counted."""
        counted = [(offer.left, offer.query) for offer in self.offers if offer.left is not None]
        return _chained([left - _earlier(query) for left, query in counted]) if counted else None


def decide(
    look: Lookahead, names: Sequence[Id], spending: Spending, rng: np.random.Generator, domain: Ints | None
) -> Block:
    """Decide the inputs of a look-ahead, in as many offers as the rule changes in between."""
    offers, probability, start, effort = [], [], 0, Effort(0, 0, 0)
    while start < len(look):
        count = look.rows_at_once or len(look) - start
        here = None if domain is None else domain[start : start + count]
        offer = spending.offer(count, rng, here)
        effort += look.decide(offer)
        stop = start + len(offer)
        probability.append(offer.close(look.uncertainty[start:stop]))
        offers.append(offer)
        start = stop
    query, rows = _chained([offer.query for offer in offers]), look.queried
    return Block(look, effort, query, _chained(probability), [names[row] for row in rows.tolist()], offers)


def columns(blocks: Sequence[Block]) -> dict[str, Any]:
    """Return what `Answers` says about the decisions of consecutive blocks, of which there may be none."""
    kinds: dict[str, type] = {"uncertainty": float, "probability": float, "query": bool}
    kinds |= {"at_random": bool, "spent": int}
    counted: dict[str, type] = {"left": int} if all(block.left is not None for block in blocks) else {}
    found = {
        name: np.concatenate([np.empty(0, kind), *(getattr(block, name) for block in blocks)])
        for name, kind in (kinds | counted).items()
    }
    return {"left": None} | found


def _chained(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _earlier(query: Bools) -> Ints:
    return np.asarray(query.cumsum() - query)


class BlockSize:
    """How many examples to look ahead over: more while that pays, fewer when it does not.

    Only speed depends on it. What a block costs beyond its rows grows with the square and the cube of its
    candidates, so it should have some 50 to 100 of them, and on a GPU a thousand. After an abrupt
    shift Δ collapses within a few queries: most candidates of a large block are then rejected after all, and
    their products wasted.
    """

    def __init__(self, reach: Reach, fixed: int | None = None) -> None:
        self._few, self._many = reach.few, reach.many
        self.smallest, self.value, self.largest = (
            (reach.smallest, reach.first, reach.largest) if fixed is None else (fixed, fixed, fixed)
        )

    def update(self, effort: Effort) -> None:
        """Take note of what a block took."""
        rejected = effort.candidates - effort.queries
        if 4 * rejected > effort.rows or effort.candidates > self._many:
            self.value = max(self.smallest, self.value // 2)
        elif 8 * rejected <= effort.rows and effort.candidates <= self._few:
            self.value = min(self.largest, self.value * 2)
