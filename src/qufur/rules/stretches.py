"""Spending that changes at fixed positions of the stream."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from qufur.arrays import Floats, Ints
from qufur.rules.base import Rule
from qufur.rules.spending import Spending

STRETCH = 32
"""Examples between two positions, once the stream is under way."""


class Stretches(Spending):
    """Spending that is set anew at fixed positions of the stream, and stays as it is in between.

    The positions are 1, 2, 4, 8, 16, 32, and then every 32nd example; where the horizon is known, each of the
    last 32. What the examples of a stretch say is taken in at its end, all at once, so that nothing depends
    on how the stretch was cut into blocks.

    Attributes
    ----------
    horizon
        How many examples will come; None if that is not known.
    seen
        Examples up to the last position.
    """

    horizon: int | None
    seen: int

    def __init__(self, rule: Rule, horizon: int | None = None) -> None:
        super().__init__(rule)
        self.horizon = horizon
        self._stretch: list[float] = []
        self._begin_stretch(0)

    @abstractmethod
    def set_anew(self) -> None:
        """Set what the stretch goes by that begins."""

    def take_in(self, uncertainty: Sequence[float]) -> None:
        """Learn from the uncertainties of the stretch that ends; `seen` is where it began."""

    def length(self) -> int:
        """Return how many examples the stretch has that begins at `seen`.

        One ends where the last 32 examples begin; those go one by one, so that all is spent.
        """
        usual = STRETCH if self.seen >= STRETCH else max(1, self.seen)
        if self.horizon is None:
            return usual
        last = self.horizon - STRETCH
        if self.seen < last:
            return min(usual, last - self.seen)
        return 1 if self.seen < self.horizon else STRETCH

    @property
    def ahead(self) -> int:
        return self._length - len(self._stretch)

    @property
    def place(self) -> int:
        return self.seen + len(self._stretch)

    def places(self, first: int, rows: Ints) -> list[int]:
        places: list[int] = (first + rows).tolist()
        return places

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        super().record(charged, spent, uncertainty)
        self._stretch += uncertainty
        if len(self._stretch) == self._length:
            self.take_in(self._stretch)
            self._stretch = []
            self._begin_stretch(self.seen + self._length)

    def add(self, labels: int, rows: int | None = None) -> None:
        """Let more labels be bought; a stretch ends there, so that the next one goes by them."""
        place = self.place
        if rows is None and self.horizon is not None:
            left = self.horizon - place
            rows = left if left > 0 else math.ceil(((self.left or 0) + labels) / (self.rule.share or 1.0))
        self.take_over(self.rule.with_more(labels, None if rows is None else place + rows))
        self.cut(None if rows is None else place + rows)

    def cut(self, horizon: int | None) -> None:
        """End the stretch here, however long it is, and let the next one go by this horizon."""
        place = self.place
        if self._stretch:
            self.take_in(self._stretch)
            self._stretch = []
        self.horizon = horizon
        self._begin_stretch(place)

    def save(self) -> dict[str, Any]:
        return super().save() | {"seen": self.seen, "stretch": self._stretch}

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        self.seen, self._stretch = values["seen"], values["stretch"]
        self._length = self.length()

    def _begin_stretch(self, seen: int) -> None:
        self.seen = seen
        self._length = self.length()
        self.set_anew()
