"""Timeline of a run: spend by row, and error and expert weights by label, at most 200 points of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Bools
from qufur.estimates.headline import Headline, finite_or_none
from qufur.models.capabilities import ensemble_report

if TYPE_CHECKING:
    from qufur.learner import Learner
    from qufur.models.ensemble.report import EnsembleReport

MAX_POINTS = 200
"""Maximum number of stored points of each series; above it, every second point is dropped."""
MAX_EXPERTS = 5
"""Maximum number of expert weights stored at each point."""
VERSION = 2
"""Since version 2 the error of a point is the headline error."""


@dataclass(frozen=True)
class Point:
    """Snapshot of error and weights after labels arrived.

    Attributes
    ----------
    rows, labels
        Number of processed rows and of received labels.
    error, low, high
        The headline error and its interval; None if unknown.
    at_random
        Error with the same number of uniformly sampled labels; None unless the difference is clear.
    constant
        The error of the best constant; None if unknown.
    weights
        The largest weights, by expert name; empty without an ensemble.
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
class Timeline:
    """Spend and snapshots of a run so far, at most 200 points of each.

    Attributes
    ----------
    first, before
        Rows and labels before the timeline began.
    rows
        Rows since then.
    step, spent
        `spent` has the labels bought up to every multiple of `step` rows since then.
    labels
        Labels bought since then.
    every, points
        Snapshots at least `every` labels apart.
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
        """Record which of the next rows were queried; the result does not depend on how rows are batched."""
        bought = self.labels + np.cumsum(query)
        first, last = self.rows // self.step + 1, (self.rows + len(query)) // self.step
        positions = np.arange(first, last + 1) * self.step
        self.spent += bought[positions - self.rows - 1].tolist()
        self.rows += len(query)
        self.labels = int(bought[-1]) if len(query) else self.labels
        while len(self.spent) > MAX_POINTS:
            self.spent, self.step = self.spent[1::2], 2 * self.step

    def spending(self) -> tuple[list[int], list[int]]:
        """Return row numbers, and the labels bought up to each."""
        rows = [self.first + self.step * k for k in range(len(self.spent) + 1)] + [self.first + self.rows]
        return rows, [self.before + labels for labels in (0, *self.spent, self.labels)]

    def note(self, learner: Learner) -> None:
        """Add a snapshot if at least `every` labels arrived since the last one."""
        labels = learner.ledger.answered
        if labels < (self.points[-1].labels if self.points else 0) + self.every:
            return
        self.points.append(point(learner))
        if len(self.points) > MAX_POINTS:
            self.points, self.every = self.points[::2], 2 * self.every

    def points_until_now(self, learner: Learner) -> list[Point]:
        """Return the points at earlier rows, and one for the current state."""
        now = point(learner)
        return [*(earlier for earlier in self.points if earlier.rows < now.rows), now]

    def save(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def restored(cls, values: dict[str, Any]) -> Timeline:
        """Return the timeline from the result of `save`; drops errors written by older versions."""
        values = dict(values)
        version, points = values.pop("version", 1), [Point(**saved) for saved in values["points"]]
        if version < VERSION:
            points = [Point(old.rows, old.labels, None, weights=old.weights) for old in points]
        return cls(**{**values, "points": points})


def point(learner: Learner) -> Point:
    """Return a snapshot of the current state."""
    ledger, report, headline = learner.ledger, ensemble_report(learner.state), Headline.of(learner)
    numbers = ledger.examples, ledger.answered, headline.error, headline.low, headline.high
    if report is None or not report.labels:
        return Point(*numbers)
    constant = report.best_constant
    by_weight = sorted(zip(report.weights, report.names, strict=True))[::-1]
    return Point(
        *numbers,
        at_random=error_at_random(headline, report),
        constant=None if constant is None else finite_or_none(report.in_units(report.losses[constant])),
        weights={name: round(weight, 4) for weight, name in by_weight[:MAX_EXPERTS]},
    )


def error_at_random(headline: Headline, report: EnsembleReport) -> float | None:
    """Return the error with as many uniformly sampled labels; None unless the difference is clear."""
    comparison = report.random_labels
    if headline.error is None or comparison is None or not comparison.is_clear:
        return None
    return headline.error * report.in_units(comparison.ratio)
