"""Exact decisions for a block of upcoming inputs, with a Python cost per block and not per example."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qufur.arrays import Bools
from qufur.models.base import Lookahead
from qufur.rules.base import Offer


@dataclass(frozen=True)
class Effort:
    """What it took to decide a block."""

    rows: int
    candidates: int
    queries: int
    passes: int


def decide(look: Lookahead, offer: Offer) -> Effort:
    """Decide every example of the block, each as if it had come alone.

    Presume which rows query; then every row's Δ is known, and with it every decision. If the decisions are
    those presumed, they are right: the first row's does not depend on the presumption, so it is right; the
    second's depends on the first alone; and so on. If not, presume the decisions. Every pass gets at least
    one more row right, and in practice two to four passes do, since Δ moves little within a block.

    Δ only falls as queries are added, so rows that would not query if nobody else did never do, and the
    first presumption is that all the others query.
    """
    rows = np.flatnonzero(offer.may_query(look.uncertainty))
    passes = 0
    chosen: Bools = np.ones(len(rows), dtype=bool)
    if len(rows):
        look.consider(rows)
        while True:
            passes += 1
            charges = offer.charges_for(look.given(chosen), rows)
            decided = np.asarray(charges.any(axis=0))
            if np.array_equal(decided, chosen):
                break
            if passes > len(rows):  # impossible for a Δ that depends on earlier rows only
                raise RuntimeError(f"{type(look).__name__} lets Δ of a row depend on later rows")
            chosen = decided
        offer.charge(rows, charges)
        look.settle()
    return Effort(len(look.uncertainty), len(rows), int(chosen.sum()), passes)


class BlockSize:
    """How many examples to look ahead over: more while that pays, fewer when it does not.

    Only speed depends on it. What a block costs beyond its rows grows with the square and the cube of its
    candidates, so it should have some 50 to 100 of them. After an abrupt shift Δ collapses within a few
    queries: most candidates of a large block are then rejected after all, and their products wasted.
    """

    def __init__(self, fixed: int | None = None) -> None:
        self.smallest, self.value, self.largest = (16, 32, 1024) if fixed is None else (fixed, fixed, fixed)

    def update(self, effort: Effort) -> None:
        """Take note of what a block took."""
        rejected = effort.candidates - effort.queries
        if 4 * rejected > effort.rows or effort.candidates > 128:
            self.value = max(self.smallest, self.value // 2)
        elif 8 * rejected <= effort.rows and effort.candidates <= 48:
            self.value = min(self.largest, self.value * 2)
