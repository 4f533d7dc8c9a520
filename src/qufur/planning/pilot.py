"""What error to expect of a budget, from a pilot: some labels of the same table.

*The curve.* A model meets the pilot's m rows in their order and predicts each before it learns its label. The
mean of these losses is what a budget of m labels costs at an even pace, measured. The pilot dealt out at
random into two streams, and into four, tells what m/2 and m/4 cost, as thin as their labels would be.

*Between and beyond* these three points the logarithm of the loss is linear in that of the labels: it falls as
a power of them. Beyond m nobody has measured, and standard errors grow with every octave.

*Rows one after another* know each other's labels better than rows that are bought here and there. So of a
pilot that has more labels than the budget would buy among its rows, only as many are used, at random. If that
leaves too few, as in the first hundred rows of a long table, they are met in an order drawn at random, and
what changes elsewhere is in no forecast.

*What it is not.* It is about labels at random at an even pace; a rule that begins faster, or chooses well,
has less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Model
from qufur.planning.outcome import Expected
from qufur.rules import Greedy
from qufur.run import run
from qufur.streams import Arrays

FEWEST = 24
"""Labels of a pilot: a fourth of them is the thinnest stream."""
MOST = 1000
"""Of more labels so many, drawn at random, tell as much in less time."""


@dataclass(frozen=True)
class Pilot:
    """Rows that have labels, where they are in the table, and how many rows that has.

    Examples
    --------
    >>> from qufur import Ridge
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> places = np.arange(0, 400, 8)
    >>> pilot = Pilot(places, X[places], X[places] @ [3.0, 1.0], 400)
    >>> few, many = pilot.expect(Ridge(2, label_range=(-9, 9)), [10, 50])
    >>> few.loss > many.loss
    True
    """

    places: Ints
    X: Floats
    y: Floats
    rows: int

    def __len__(self) -> int:
        return len(self.y)

    @property
    def local(self) -> bool:
        """Whether it says nothing about most of the table."""
        return self._span < 0.5 * self.rows

    @property
    def _span(self) -> int:
        return int(self.places[-1] - self.places[0]) + 1

    def expect(self, model: Model, budgets: Sequence[int]) -> tuple[Expected, ...]:
        """Return what to expect of every budget."""
        if len(self) < FEWEST:
            raise invalid("pilot", "plan", f"at least {FEWEST} labels", len(self))
        rng = np.random.default_rng(0)
        order = self._order(max(budgets), rng)
        points = [self._point(model, order, parts, rng) for parts in (4, 2, 1)]
        return tuple(_at(np.array(points), budget) for budget in budgets)

    def _order(self, budget: int, rng: np.random.Generator) -> Ints:
        """Return the rows to meet, about as far from each other as those that a budget buys."""
        bought = round(budget * self._span / self.rows)
        if self.local and bought < FEWEST:
            return rng.permutation(len(self))[:MOST]
        return np.sort(rng.permutation(len(self))[: min(max(bought, FEWEST), MOST)])

    def _point(self, model: Model, order: Ints, parts: int, rng: np.random.Generator) -> tuple[float, ...]:
        """Return labels, mean loss and its relative error of the pilot dealt out into so many streams."""
        dealt = rng.permutation(np.arange(len(order)) % parts)
        streams = [order[dealt == part] for part in range(parts)]
        losses = np.concatenate([*self._losses(model, streams)])
        mean = max(float(losses.mean()), np.finfo(float).tiny)
        return len(order) / parts, mean, float(losses.std(ddof=1)) / math.sqrt(len(losses)) / mean

    def _losses(self, model: Model, streams: Sequence[Ints]) -> Iterator[Floats]:
        """Yield the losses of each stream but for its first row, before which nothing is known."""
        for rows in streams:
            learner = Learner(model, Greedy(len(rows)))
            yield run(learner, Arrays(self.X[rows], self.y[rows])).loss[1:]


def _at(points: Floats, budget: int) -> Expected:
    """Return what a budget has by the points of a curve: labels, loss, relative error."""
    (first, *_, last), losses, errors = np.log(points[:, 0]), np.log(points[:, 1]), points[:, 2]
    slope = min(0.0, (losses[-1] - losses[0]) / (last - first))
    beyond = max(0.0, math.log(budget) - last) + min(0.0, math.log(budget) - first)
    inside = min(max(math.log(budget), first), last)
    loss = np.interp(inside, np.log(points[:, 0]), losses) + slope * beyond
    error = math.hypot(errors.max(), beyond * math.hypot(errors[0], errors[-1]) / (last - first))
    return Expected(budget, *(math.exp(loss + step * error) for step in (0, -2, 2)))
