"""How the work went: labels bought as rows came, and error and weights when labels came; 200 of each."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Bools
from qufur.estimates.headline import Headline

if TYPE_CHECKING:
    from qufur.learner import Learner
    from qufur.models.diagnostics.standing import Standing

MOST = 200
"""Numbers of each kind that are kept: when there are more, every second one goes."""
HEAVIEST = 5
"""Experts whose weights are kept, at each point."""
VERSION = 2
"""Since version 2 the error of a point is the headline error."""


@dataclass(frozen=True)
class Point:
    """How things stood when labels had come.

    Attributes
    ----------
    rows, labels
        Rows asked about, and labels that had come.
    error, low, high
        The headline error and its interval; None where they are not known.
    at_random
        The error with as many uniformly sampled labels; None unless the difference is clear.
    constant
        The error of the best constant; None where it is not known.
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

    def points_until_now(self, learner: Learner) -> list[Point]:
        """Return the points at earlier rows, and one for the present."""
        now = point(learner)
        return [*(earlier for earlier in self.points if earlier.rows < now.rows), now]

    def save(self) -> dict[str, Any]:
        """Return everything as values for JSON."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def restored(cls, values: dict[str, Any]) -> Course:
        """Return what `save` was called on. Errors of points that older versions wrote are dropped."""
        values = dict(values)
        version, points = values.pop("version", 1), [Point(**one) for one in values["points"]]
        if version < VERSION:
            points = [Point(one.rows, one.labels, None, weights=one.weights) for one in points]
        return cls(**{**values, "points": points})


def point(learner: Learner) -> Point:
    """Return how things stand."""
    ledger, standing, headline = learner.ledger, learner.state.standing(), Headline.of(learner)
    known = ledger.examples, ledger.answered, headline.error, headline.low, headline.high
    if standing is None or not standing.labels:
        return Point(*known)
    constant, heaviest = standing.best_constant, sorted(zip(standing.weights, standing.names, strict=True))
    return Point(
        *known,
        at_random=error_at_random(headline, standing),
        constant=None if constant is None else _finite(standing.in_units(standing.losses[constant])),
        weights={name: round(weight, 4) for weight, name in heaviest[: -HEAVIEST - 1 : -1]},
    )


def error_at_random(headline: Headline, standing: Standing) -> float | None:
    """Return the error with as many uniformly sampled labels; None unless the difference is clear."""
    found = standing.random_labels
    if headline.error is None or found is None or not found.is_clear:
        return None
    return headline.error * standing.in_units(found.ratio)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
