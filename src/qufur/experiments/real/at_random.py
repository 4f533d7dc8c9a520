"""Labels at random: as many as the budget, each row as likely as any other."""

from __future__ import annotations

from math import inf

import numpy as np

from qufur.arrays import Ints


def coins_that_buy(budget: int, horizon: int, seed: int) -> int:
    """Return a seed whose coins buy exactly the budget at the rate budget ÷ horizon.

    The rows they buy are a sample without replacement, for `Uniform` as for everybody else.

    >>> rate, coins = 0.25, np.random.default_rng(coins_that_buy(5, 20, seed=3)).random(20)
    >>> int((coins < rate).sum())
    5
    """
    seeds = np.random.default_rng([seed, 31])
    found = inf
    while found != budget:
        coins = int(seeds.integers(2**32))
        found = int((np.random.default_rng(coins).random(horizon) < budget / horizon).sum())
    return coins


def rows_at_random(budget: int, horizon: int, seed: int) -> Ints:
    """Return the rows that are bought: the first, and the others at random."""
    if budget == 1:
        return np.zeros(1, dtype=np.int64)
    coins = np.random.default_rng(coins_that_buy(budget - 1, horizon - 1, seed)).random(horizon - 1)
    return np.append(0, 1 + np.flatnonzero(coins < (budget - 1) / (horizon - 1)))
