"""Blocks that are looked ahead over, and how far to look next: only speed depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.models.base import Id
from qufur.models.look import Lookahead

LARGEST = 1024


@dataclass(frozen=True)
class Effort:
    """What it took to decide a block."""

    rows: int
    candidates: int
    queries: int


@dataclass(frozen=True)
class Block:
    """Consecutive inputs whose queries are decided and whose predictions wait for `Learner.finish`.

    `spent` and `left` are labels bought and left before it.
    """

    look: Lookahead
    effort: Effort
    query: Bools
    uncertainty: Floats
    probability: Floats
    queried: Sequence[Id]
    charges: Bools
    spent: int
    left: int | None

    def __len__(self) -> int:
        return len(self.query)

    @property
    def earlier(self) -> Ints:
        """How many queries of the block come before each row."""
        return np.asarray(self.query.cumsum() - self.query)


class BlockSize:
    """How many examples to look ahead over: more while that pays, fewer when it does not.

    Only speed depends on it. What a block costs beyond its rows grows with the square and the cube of its
    candidates, so it should have some 50 to 100 of them. After an abrupt shift Δ collapses within a few
    queries: most candidates of a large block are then rejected after all, and their products wasted.
    """

    def __init__(self, first: int, fixed: int | None = None) -> None:
        self.smallest, self.value, self.largest = (
            (16, first, LARGEST) if fixed is None else (fixed, fixed, fixed)
        )

    def update(self, effort: Effort) -> None:
        """Take note of what a block took."""
        rejected = effort.candidates - effort.queries
        if 4 * rejected > effort.rows or effort.candidates > 128:
            self.value = max(self.smallest, self.value // 2)
        elif 8 * rejected <= effort.rows and effort.candidates <= 48:
            self.value = min(self.largest, self.value * 2)
