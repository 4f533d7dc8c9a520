"""Ways to use a budget of labels on a table, each from the table to what it lost on every row but the first.

The first row is bought by everybody and counts for nobody: what is said before any label says little about a
method, and much about the size of the labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.real.at_random import coins_that_buy, rows_at_random
from qufur.experiments.real.usual import leaders, usual_classes, usual_numbers
from qufur.learner import Learner
from qufur.models import Model, Ridge
from qufur.rules import Steady, Uniform
from qufur.run import run
from qufur.streams import Arrays, Scaled, Summary
from qufur.trace import Trace

if TYPE_CHECKING:
    from qufur.experiments.real.overheard import Overheard

LEAST_PROBABILITY = 0.003
"""Of a class, for the log loss: a model that is sure, and wrong, does not decide alone."""

Losses = dict[str, Floats]
Method = Callable[[Arrays, int, int], tuple[int, Losses]]
"""From a table, a budget and a seed to the labels bought and the losses by name."""

OURS, SAME, RIDGE, USUAL = "Steady", "Uniform", "Ridge", "usual"
NAMES = {
    OURS: "`Experts`, `Steady`",
    SAME: "labels at random, the same experts",
    RIDGE: "labels at random, `Ridge`",
    USUAL: "labels at random, the usual models",
}

BRIEFLY = {SAME: "same experts", RIDGE: "Ridge", USUAL: "usual models"}
"""In the heads of tables: all of these have labels at random."""


def steady(model: Model, table: Arrays, budget: int, seed: int) -> Trace:
    """Let the rule for tables choose."""
    return run(Learner(model, Steady(budget, table.horizon), seed=seed), table)


def at_random(model: Model, table: Arrays, budget: int, seed: int) -> Trace:
    """Give the model the first label, and others at random; the trace begins with the second row."""
    rest = Arrays(table.X[1:], table.y[1:])
    rule = Uniform((budget - 1) / rest.horizon)
    learner = Learner(model, rule, seed=coins_that_buy(budget - 1, rest.horizon, seed))
    learner.learn(table.X[:1], table.y[:1])
    return run(learner, rest)


def numbers_ours(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run experts on the labels that the rule for tables chooses."""
    from qufur.models import Experts

    trace = steady(Experts(seed=seed), table, budget, seed)
    return trace.queries, {"loss": trace.loss[1:]}


def numbers_same(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run the same experts on labels at random."""
    from qufur.models import Experts

    trace = at_random(Experts(seed=seed), table, budget, seed)
    return 1 + trace.queries, {"loss": trace.loss}


def numbers_ridge(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run `Ridge` on labels at random, with what hindsight knows: moments and the range of the labels."""
    scaled = scaled_table(table)
    trace = at_random(ridge_for(scaled), scaled, budget, seed)
    return 1 + trace.queries, {"loss": trace.loss}


def scaled_table(table: Arrays) -> Arrays:
    """Return columns of mean 0 and deviation 1/√d, by the moments of all rows."""
    scaled = Arrays.of(Scaled(table, Summary.of(table.chunks(table.horizon))))
    return Arrays(scaled.X / table.dim**0.5, table.y)


def ridge_for(table: Arrays, regularization: float = 1.0) -> Ridge:
    """Return ridge regression with an intercept, clipped to the range of the labels."""
    label_range = float(table.y.min()), float(table.y.max())
    return Ridge(table.dim, intercept=True, regularization=regularization, label_range=label_range)


def numbers_usual(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Fit the usual models to labels at random, and use the best so far."""
    bought = rows_at_random(budget, table.horizon, seed)
    said = usual_numbers(table.X, table.y, bought, seed)
    return len(bought), {"loss": ((said - table.y) ** 2)[1:]}


def classes_ours(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run experts on the labels that the rule for tables chooses."""
    model = experts_for(table, seed)
    trace = steady(model, table, budget, seed)
    return trace.queries, _class_losses(np.concatenate(model.said)[1:], table.y[1:])


def classes_same(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run the same experts on labels at random."""
    model = experts_for(table, seed)
    trace = at_random(model, table, budget, seed)
    return 1 + trace.queries, _class_losses(np.concatenate(model.said), table.y[1:])


def experts_for(table: Arrays, seed: int) -> Overheard:
    """Return experts for the classes of a table."""
    from qufur.experiments.real.overheard import Overheard

    return Overheard(classes=range(class_count(table)), seed=seed)


def class_count(table: Arrays) -> int:
    """Return how many classes there are."""
    return int(table.y.max()) + 1


def classes_usual(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Fit the usual models to labels at random, and use the best so far, by the loss in question."""
    bought = rows_at_random(budget, table.horizon, seed)
    said = usual_classes(table.X, table.y, bought, seed, class_count(table))
    each = [_class_losses(said[:, place], table.y) for place in range(said.shape[1])]
    losses = {name: np.column_stack([found[name] for found in each]) for name in each[0]}
    rows = np.arange(table.horizon)
    return len(bought), {name: part[rows, leaders(part, bought)][1:] for name, part in losses.items()}


def _class_losses(probabilities: Floats, y: Floats) -> Losses:
    of_truth = np.take_along_axis(probabilities, y.astype(np.int64)[:, None], axis=1)[:, 0]
    return {
        "error": np.asarray(probabilities.argmax(axis=1) != y, dtype=np.float64),
        "log_loss": -np.log(np.maximum(of_truth, LEAST_PROBABILITY)),
    }


FOR_NUMBERS: dict[str, Method] = {
    OURS: numbers_ours,
    SAME: numbers_same,
    RIDGE: numbers_ridge,
    USUAL: numbers_usual,
}
FOR_CLASSES: dict[str, Method] = {OURS: classes_ours, SAME: classes_same, USUAL: classes_usual}
