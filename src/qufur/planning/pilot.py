"""Expected error at a budget, extrapolated from a pilot: some labelled rows of the same table.

*Learning curve.* The model processes the m rows of the pilot in order and predicts each row before it learns
its label. The mean of these out-of-sample losses measures the loss of a budget of m labels at a constant
rate. Splitting the pilot at random into two streams, and into four, measures the losses of m/2 and m/4 labels
at the density that such budgets have.

*Interpolation and extrapolation.* Between and beyond these three points the loss is a power of the number of
labels: linear in log-log scale. Beyond m there is no measurement, and standard errors grow with every octave.

*Density.* Neighbouring rows predict each other better than rows that are spread over the table. If a pilot
has more labels than the budget would buy among its rows, only that number is used, drawn at random. If too
few remain, as with the first hundred rows of a long table, the rows are processed in random order, and the
forecast does not reflect changes in the rest of the table.

*Limits.* The forecast is for random labels at a constant rate. A rule with a warm-up, or one that selects
well, has a lower error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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

MIN_LABELS = 24
"""Minimum number of labels of a pilot; its smallest stream has a quarter of them."""
MAX_LABELS = 1000
"""Maximum number of labels used, drawn at random; more take longer and add little."""


@dataclass(frozen=True)
class Pilot:
    """Labelled rows of a table, for the error to expect at a budget.

    Attributes
    ----------
    places
        Positions of the labelled rows in the table, in increasing order.
    X, y
        Inputs and labels of these rows.
    rows
        Number of rows of the table.

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
        """Whether the pilot spans less than half of the table."""
        return self._span < 0.5 * self.rows

    @property
    def _span(self) -> int:
        """Rows of the table from the first to the last labelled row."""
        return int(self.places[-1] - self.places[0]) + 1

    def expect(self, model: Model, budgets: Sequence[int]) -> tuple[Expected, ...]:
        """Return the expected loss at each budget, a number of labels for the whole table.

        Raises `InvalidError` with fewer than 24 labels.
        """
        if len(self) < MIN_LABELS:
            raise invalid("pilot", "plan", f"at least {MIN_LABELS} labels", len(self))
        rng = np.random.default_rng(0)
        order = self._order(max(budgets), rng)
        points = [self._point(model, order, parts, rng) for parts in (4, 2, 1)]
        return tuple(_extrapolate(np.array(points), budget) for budget in budgets)

    def _order(self, budget: int, rng: np.random.Generator) -> Ints:
        """Return the rows to process, about as dense as those that the budget buys."""
        bought = round(budget * self._span / self.rows)
        if self.local and bought < MIN_LABELS:
            return rng.permutation(len(self))[:MAX_LABELS]
        return np.sort(rng.permutation(len(self))[: min(max(bought, MIN_LABELS), MAX_LABELS)])

    def _point(self, model: Model, order: Ints, parts: int, rng: np.random.Generator) -> tuple[float, ...]:
        """Return labels, mean loss and its relative error with the pilot split into `parts` streams."""
        assignment = rng.permutation(np.arange(len(order)) % parts)
        losses = np.concatenate([self._losses(model, order[assignment == part]) for part in range(parts)])
        mean = max(float(losses.mean()), np.finfo(float).tiny)
        return len(order) / parts, mean, float(losses.std(ddof=1)) / math.sqrt(len(losses)) / mean

    def _losses(self, model: Model, rows: Ints) -> Floats:
        """Return the losses of a stream of rows without the first, which is predicted without any label."""
        stream = Arrays(self.X[rows], self.y[rows])
        return run(Learner(model, Greedy(len(rows))), stream).loss[1:]


def _extrapolate(points: Floats, budget: int) -> Expected:
    """Return the expected loss at a budget from the points of a curve: labels, loss, relative error."""
    (first, *_, last), losses, errors = np.log(points[:, 0]), np.log(points[:, 1]), points[:, 2]
    slope = min(0.0, (losses[-1] - losses[0]) / (last - first))
    beyond = max(0.0, math.log(budget) - last) + min(0.0, math.log(budget) - first)
    inside = min(max(math.log(budget), first), last)
    loss = np.interp(inside, np.log(points[:, 0]), losses) + slope * beyond
    error = math.hypot(errors.max(), beyond * math.hypot(errors[0], errors[-1]) / (last - first))
    return Expected(budget, *(math.exp(loss + step * error) for step in (0, -2, 2)))
