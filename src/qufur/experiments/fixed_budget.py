"""Runs with a fixed number of labels, chosen by `Steady` or sampled uniformly."""

from __future__ import annotations

from math import inf

import numpy as np

from qufur.arrays import Ints
from qufur.learner import Learner
from qufur.models import Model
from qufur.rules import Steady, Uniform
from qufur.run import run
from qufur.streams import Arrays
from qufur.trace import Trace

OURS, SAME = "Steady", "Uniform"
WAYS = {OURS: "labels chosen by Steady", SAME: "random labels, same experts"}


def seed_that_buys(budget: int, horizon: int, seed: int) -> int:
    """Return a seed whose uniform draws buy exactly the budget at the rate budget ÷ horizon.

    The purchased rows are then a uniform sample without replacement, for the rule `Uniform` and for methods
    without a learner.

    >>> draws = np.random.default_rng(seed_that_buys(5, 20, seed=3)).random(20)
    >>> int((draws < 0.25).sum())
    5
    """
    seeds = np.random.default_rng([seed, 31])
    purchases = inf
    while purchases != budget:
        candidate = int(seeds.integers(2**32))
        purchases = int((np.random.default_rng(candidate).random(horizon) < budget / horizon).sum())
    return candidate


def rows_at_random(budget: int, horizon: int, seed: int) -> Ints:
    """Return the rows that `at_random` buys: the first row, and uniformly sampled others."""
    if budget == 1:
        return np.zeros(1, dtype=np.int64)
    draws = np.random.default_rng(seed_that_buys(budget - 1, horizon - 1, seed)).random(horizon - 1)
    return np.append(0, 1 + np.flatnonzero(draws < (budget - 1) / (horizon - 1)))


def steady(model: Model, table: Arrays, budget: int, seed: int) -> Trace:
    """Run the model with labels chosen by `Steady`."""
    return run(Learner(model, Steady(budget, table.horizon), seed=seed), table)


def at_random(model: Model, table: Arrays, budget: int, seed: int) -> Trace:
    """Run the model with the first label and random others; the trace starts at the second row."""
    rest = Arrays(table.X[1:], table.y[1:])
    rule = Uniform((budget - 1) / rest.horizon)
    learner = Learner(model, rule, seed=seed_that_buys(budget - 1, rest.horizon, seed))
    learner.learn(table.X[:1], table.y[:1])
    return run(learner, rest)
