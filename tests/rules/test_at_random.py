"""Labels whose uniform draw lies below the floor are a uniform sample, independent of Δ."""

import numpy as np
import pytest

from qufur import DomainOracle, FixedBudget, Greedy, Paced, QuFUR, Steady, Threshold, Uniform
from qufur.rules.base import Rule

COUNT = 600
WITH_FLOOR = [
    QuFUR(1.0, floor=0.1),
    QuFUR(1.0, floor=0.1, budget=50),
    Paced(200, COUNT, floor=0.1),
    Paced(0.3, floor=0.1),
    Steady(200, COUNT),
    Steady(0.2, burst=100),
    Uniform(0.3),
    Uniform(0.3, budget=50),
]
WITHOUT = [
    QuFUR(1.0),
    Paced(200, COUNT),
    Greedy(20),
    Threshold(0.5),
    FixedBudget(200, COUNT),
    DomainOracle(durations=[COUNT], dims=[2], budget=50),
]


def uncertainties(count=COUNT):
    return np.random.default_rng(3).choice([0.0, 0.01, 0.3, 1.0], count)


def in_blocks(rule, delta, seed, block):
    """Offer examples in blocks; return the floor of each, and masks of the queried and of the random ones."""
    spending, rng, start = rule.start(), np.random.default_rng(seed), 0
    floor, query, at_random = np.empty(len(delta)), np.zeros(len(delta), bool), np.zeros(len(delta), bool)
    while start < len(delta):
        before = spending.floor
        domain = np.zeros(min(block, len(delta) - start), dtype=int)
        offer = spending.offer(len(domain), rng, domain)
        rows = slice(start, start + len(offer))
        for row, width in enumerate(delta[rows]):
            if width > offer.lowest_threshold[row]:
                offer.buy(row, width)
        offer.close(delta[rows])
        floor[rows], query[rows] = before, offer.query
        # `offer.at_random` uses the floor at the time of the draws.
        at_random[np.flatnonzero(offer.query) + start] = offer.at_random
        start = rows.stop
    return floor, query, at_random


def one_by_one(rule, delta, seed):
    spending, rng, decisions = rule.start(), np.random.default_rng(seed), []
    for width in delta.tolist():
        floor = spending.floor
        query, _, _, at_random = spending.decide_one(width, rng, np.zeros(1, dtype=int))
        decisions.append((floor, query, at_random))
    return [np.array(column) for column in zip(*decisions, strict=True)]


@pytest.mark.parametrize("rule", WITH_FLOOR, ids=repr)
def test_random_labels_have_a_draw_below_the_floor(rule):
    delta, coins = uncertainties(), np.random.default_rng(7).random(COUNT)
    floor, query, at_random = one_by_one(rule, delta, 7)
    is_low = coins < floor
    left = query.cumsum() - query < (rule.limit or np.inf)
    np.testing.assert_array_equal(at_random, is_low & left)
    assert not (at_random & ~query).any()
    assert 10 < at_random.sum() < COUNT / 2


@pytest.mark.parametrize("rule", WITH_FLOOR + WITHOUT, ids=repr)
@pytest.mark.parametrize("block", [1, 7, 64, COUNT])
def test_random_labels_do_not_depend_on_blocks(rule, block):
    delta = uncertainties()
    for mine, theirs in zip(in_blocks(rule, delta, 7, block), one_by_one(rule, delta, 7), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("rule", WITHOUT, ids=repr)
def test_random_labels_need_a_floor(rule):
    floor, query, at_random = one_by_one(rule, uncertainties(), 7)
    assert query.any()
    assert not floor.any()
    assert not at_random.any()


@pytest.mark.parametrize("kind", [FixedBudget, Greedy], ids=lambda kind: kind.__name__)
def test_floor_needs_a_single_draw(kind):
    floored = type("Floored", (kind,), {"floor": 0.5})
    assert isinstance(floored.examples(20)[0], Rule)
    assert floored.examples(20)[0].start().floor == 0


def test_uniform_rule_buys_random_labels_only():
    _, query, at_random = one_by_one(Uniform(0.3), uncertainties(), 7)
    np.testing.assert_array_equal(at_random, query)


@pytest.mark.parametrize(
    "rule",
    [
        QuFUR(1.0, floor=0.1),
        Paced(0.3, floor=0.1),
        Uniform(0.3),
        Steady(8000, 40_000),
        Steady(0.2, burst=100),
    ],
    ids=repr,
)
def test_random_labels_do_not_depend_on_uncertainty(rule):
    """Within 4.5 standard deviations: with a random seed, one of twenty would fail once in 7,000."""
    delta = uncertainties(40_000)
    floor, _, at_random = in_blocks(rule, delta, 11, 1000)
    assert floor.mean() > 0.05
    for width in np.unique(delta):
        rows = delta == width
        excess = at_random[rows].sum() - floor[rows].sum()
        assert abs(excess) < 4.5 * np.sqrt((floor[rows] * (1 - floor[rows])).sum())
