"""How the work went: labels bought as rows came, and error and weights when labels came; 200 of each."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Bools

if TYPE_CHECKING:
    from qufur.learner import Learner

MOST = 200
"""Numbers of each kind that are kept: when there are more, every second one goes."""
HEAVIEST = 5
"""Experts whose weights are kept, at each point."""


@dataclass(frozen=True)
class Point:
    """How things stood when labels had come.

    Attributes
    ----------
    rows, labels
        Rows asked about, and labels that had come.
    error, at_random, constant
        In the units of the labels, or shares of wrong classes: of the predictions so far, of those with all
        labels at random, and of a constant; None where it is not known.
    low, high
        The interval about the error, where one is known.
    weights
        Of the experts that counted most.
    """

    rows: int
    labels: int
    error: float | None
    low: float | None = None
    high: float | None = None
    at_random: float | None = None
    constant: float | None = None
    weights: dict[str, float] = field(default_factory=dict)


@dataclass
class Course:
    """What happened up to now, at no more than 200 places each.

    Attributes
    ----------
    first, before
        Rows and labels before it was followed.
    rows
        Rows since then.
    step, spent
        Labels bought up to every so many rows since then.
    labels
        Labels bought since then.
    every, points
        How things stood at least so many labels apart.
    """

    first: int = 0
    before: int = 0
    rows: int = 0
    labels: int = 0
    step: int = 1
    spent: list[int] = field(default_factory=list)
    every: int = 1
    points: list[Point] = field(default_factory=list)

    def ask(self, query: Bools) -> None:
        """Take note of which of the next rows were asked for; how they are cut does not matter."""
        bought = self.labels + np.cumsum(query)
        places = np.arange(self.rows // self.step + 1, (self.rows + len(query)) // self.step + 1) * self.step
        self.spent += bought[places - self.rows - 1].tolist()
        self.rows += len(query)
        self.labels = int(bought[-1]) if len(query) else self.labels
        while len(self.spent) > MOST:
            self.spent, self.step = self.spent[1::2], 2 * self.step

    def spending(self) -> tuple[list[int], list[int]]:
        """Return rows, and labels bought up to each."""
        rows = [self.first + self.step * k for k in range(len(self.spent) + 1)] + [self.first + self.rows]
        return rows, [self.before + labels for labels in (0, *self.spent, self.labels)]

    def note(self, learner: Learner) -> None:
        """Take note of how things stand, if enough labels came since the last time."""
        labels = learner.ledger.answered
        if labels < (self.points[-1].labels if self.points else 0) + self.every:
            return
        self.points.append(point(learner))
        if len(self.points) > MOST:
            self.points, self.every = self.points[::2], 2 * self.every

    def save(self) -> dict[str, Any]:
        """Return everything as values for JSON."""
        return asdict(self)

    @classmethod
    def restored(cls, values: dict[str, Any]) -> Course:
        """Return what `save` was called on."""
        points = [Point(**one) for one in values["points"]]
        return cls(**{**values, "points": points})


def point(learner: Learner) -> Point:
    """Return how things stand."""
    ledger, standing = learner.ledger, learner.state.standing()
    known = ledger.examples, ledger.answered
    if standing is None or not standing.labels:
        loss, (low, high), _ = ledger.mean_loss(learner.queries.values())
        return Point(*known, _root(loss), _root(low), _root(high))
    constant, all_at_random = standing.best_constant, standing.all_at_random
    heaviest = sorted(zip(standing.weights, standing.names, strict=True), reverse=True)[:HEAVIEST]
    return Point(
        *known,
        error=_finite(standing.in_units(standing.loss)),
        at_random=None if all_at_random is None else _finite(standing.in_units(max(all_at_random.loss, 0.0))),
        constant=None if constant is None else _finite(standing.in_units(standing.losses[constant])),
        weights={name: round(weight, 4) for weight, name in heaviest},
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _root(loss: float) -> float | None:
    return _finite(math.sqrt(loss)) if loss >= 0 else None
