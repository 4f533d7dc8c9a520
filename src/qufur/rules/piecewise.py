"""Spending whose parameters change only at fixed positions of the stream."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.rules.base import Rule
from qufur.rules.spending import Spending

SEGMENT = 32
"""Examples in a segment, after the first 32 examples."""


class PiecewiseSpending(Spending):
    """Spending whose parameters are updated at fixed positions and constant in the segments between.

    The positions are 1, 2, 4, 8, 16, 32, and then every 32nd example; if the horizon is known, also each of
    the last 32 examples. The uncertainties of a segment are processed together at its end, so that decisions
    do not depend on how the segment was divided into blocks.

    Attributes
    ----------
    horizon
        Length of the stream; None if unknown.
    seen
        Number of examples up to the last position.
    """

    saved_fields = (*Spending.saved_fields, "seen")
    horizon: int | None

    def __init__(self, rule: Rule, horizon: int | None = None) -> None:
        super().__init__(rule)
        self.seen = 0
        self._segment: list[float] = []
        self.cut(horizon)

    @abstractmethod
    def update_rate(self) -> None:
        """Set the parameters of the segment that begins."""

    def update(self, uncertainty: Sequence[float]) -> None:
        """Process the uncertainties of the segment that ends; `seen` is its start."""

    def length(self) -> int:
        """Return the length of the segment that begins at `seen`.

        A segment ends where the last 32 examples before the horizon begin. Each of those is a segment of its
        own, so that the whole budget is spent.
        """
        default = SEGMENT if self.seen >= SEGMENT else max(1, self.seen)
        if self.horizon is None:
            return default
        last = self.horizon - SEGMENT
        if self.seen < last:
            return min(default, last - self.seen)
        return 1 if self.seen < self.horizon else SEGMENT

    @property
    def ahead(self) -> int:
        return self._length - len(self._segment)

    @property
    def labels_left(self) -> Floats:
        return np.array([self.left], dtype=np.float64)

    @property
    def position(self) -> int:
        return self.seen + len(self._segment)

    def positions(self, first: int, rows: Ints) -> list[int]:
        positions: list[int] = (first + rows).tolist()
        return positions

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        super().record(charged, spent, uncertainty)
        self._segment += uncertainty
        if len(self._segment) == self._length:
            self.cut(self.horizon)

    def add(self, labels: int, rows: int | None = None) -> None:
        """Add labels, and begin a new segment that uses them."""
        position = self.position
        if rows is None and self.horizon is not None:
            left = self.horizon - position
            rows = left if left > 0 else math.ceil(((self.left or 0) + labels) / (self.rule.share or 1.0))
        horizon = None if rows is None else position + rows
        self.set_rule(self.rule.with_more(labels, horizon))
        self.cut(horizon)

    def cut(self, horizon: int | None) -> None:
        """End the current segment and begin the next one with this horizon."""
        position = self.position
        if self._segment:
            self.update(self._segment)
        self.seen, self.horizon, self._segment = position, horizon, []
        self._length = self.length()
        self.update_rate()

    def save(self) -> dict[str, Any]:
        return super().save() | {"stretch": self._segment}

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        self._segment = values["stretch"]
        self._length = self.length()
