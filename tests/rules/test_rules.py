"""Rules against hand-computed numbers, and budgets under adversaries."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.soak import SOAK

from qufur import DomainOracle, FixedBudget, Greedy, Learner, QuFUR, Ridge, Steady, Threshold, Uniform, run
from qufur.rules import RULES, Rule
from qufur.rules.domain_oracle import domain_rates
from qufur.rules.thresholds import LARGEST_DRAW, bisect_threshold
from qufur.streams import Arrays

DELTA = np.array([0.0, 0.05, 0.25, 0.5, 3.0])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (QuFUR(2.0), [0, 0.1, 0.5, 1, 1]),
        (QuFUR(2.0, power=2.0), [0, 0.01, 0.25, 1, 1]),
        (QuFUR(4.0, power=0.5), [0, math.sqrt(0.2), 1, 1, 1]),
        (Uniform(0.3), [0.3] * 5),
        (Greedy(3), [1] * 5),
        (Threshold(0.25), [0, 0, 1, 1, 1]),
        (FixedBudget(7, 4), [min(1, x / 16 * 2**i) for i in range(7) for x in DELTA]),
    ],
    ids=repr,
)
def test_probabilities(rule, expected):
    probability = rule.probability(DELTA, None)
    np.testing.assert_allclose(np.ravel(probability), expected, rtol=1e-14)


def test_large_power_is_a_threshold():
    soft, hard = QuFUR(4.0, power=400.0), Threshold(0.25)
    np.testing.assert_allclose(soft.probability(DELTA, None), hard.probability(DELTA, None), atol=1e-30)


def test_threshold_includes_ties_up_to_rounding():
    level = 0.2
    delta = level * (1 - np.array([0, 1.99e-6, 2.01e-6, 1e-5]))
    assert Threshold(level).probability(delta, None).tolist() == [1, 1, 0, 0]


# Uniform draws


def buy(offer, deltas):
    """Buy the label of each example whose Δ exceeds its threshold, one after the other."""
    for row, delta in enumerate(deltas):
        if delta > offer.lowest_threshold[row]:
            offer.buy(row, delta)


def offers(rule, deltas, rng, domain=None):
    """Offer examples one by one to a new rule; return its spending, probabilities and queries."""
    spending, probabilities, queries = rule.start(), [], []
    for delta in np.asarray(deltas)[:, None]:
        offer = spending.offer(1, rng, domain)
        buy(offer, delta)
        queries.append(bool(offer.query[0]))
        probabilities.append(float(offer.close(delta)[0]))
    return spending, np.array(probabilities), np.array(queries)


@pytest.mark.parametrize("rule", [QuFUR(2.0, budget=9), FixedBudget(100, 60)], ids=repr)
def test_batch_purchases_equal_single_purchases(rule):
    delta, results = np.random.default_rng(4).random(60), []
    for at_once in (False, True):
        spending = rule.start()
        offer = spending.offer(60, np.random.default_rng(5), None)
        if at_once:
            offer.record_purchases(slice(0, 40), results[0][0].charges[:, :40])
            offer.record_purchases(np.arange(40, 60), results[0][0].charges[:, 40:])
        else:
            buy(offer, delta)
        offer.labels_left[:] = 0  # a copy
        results.append(
            (
                offer,
                offer.labels_left,
                offer.lowest_threshold,
                offer.close(delta),
                spending.charged,
                spending.spent,
            )
        )
    (offer, *one_by_one), (_, *together) = results
    assert offer.labels_left.min() == 0
    for a, b in zip(one_by_one, together, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("rule", "coins"),
    [
        (QuFUR(3.0), 1),
        (QuFUR(30.0, budget=2), 1),
        (Steady(5, 20), 1),
        (Steady(0.4, burst=1), 1),
        (Uniform(0.5), 1),
        (Uniform(1.0, budget=1), 1),
        (DomainOracle(durations=[20], dims=[2], budget=2), 1),
        (FixedBudget(40, 20), 14),
        (FixedBudget(14, 20), 14),
        (Greedy(2), 0),
        (Threshold(0.1), 0),
        (Threshold(0.1, budget=1), 0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("block", [1, 5, 20])
def test_rules_use_one_draw_per_copy_and_example(rule, coins, block):
    learner = Learner(Ridge(2), rule, seed=5)
    X = np.random.default_rng(0).normal(size=(20, 2))
    run(learner, Arrays(X, X[:, 0], domain=np.zeros(20, dtype=int)), block=block)
    assert learner.spent > 0
    same = np.random.default_rng(5)
    same.random(20 * coins)
    assert learner.rng.bit_generator.state == same.bit_generator.state


def test_draw_of_each_example_is_the_next_uniform():
    coins = np.random.default_rng(8).random(50)
    _, probability, query = offers(Uniform(0.4), np.ones(50), np.random.default_rng(8))
    np.testing.assert_array_equal(query, coins < 0.4)
    np.testing.assert_array_equal(probability, 0.4)


def test_copy_0_uses_the_first_draw_of_an_example():
    rule = FixedBudget(70, 4)  # 7 copies of 10 labels, α = 1/16, 1/8, ..., 4
    coins = np.random.default_rng(8).random((30, 7))
    wants = coins < np.minimum(1, 0.2 * 2.0 ** np.arange(7) / 16)
    spending, _, query = offers(rule, np.full(30, 0.2), np.random.default_rng(8))
    np.testing.assert_array_equal(spending.charged, np.minimum(10, wants.sum(axis=0)))
    paid = wants & (wants.cumsum(axis=0) <= 10)
    np.testing.assert_array_equal(query, paid.any(axis=1))
    assert spending.spent == query.sum()


def test_query_frequencies_match_probabilities():
    """Within 5 standard deviations of αΔ: a random seed would fail once in 1.7 million."""
    deltas = np.array([0.01, 0.1, 0.3])
    n = 20_000
    _, probability, query = offers(QuFUR(2.0), np.tile(deltas, n), np.random.default_rng(3))
    p = 2 * deltas
    np.testing.assert_allclose(probability.reshape(n, 3), np.tile(p, (n, 1)))
    assert (np.abs(query.reshape(n, 3).mean(axis=0) - p) < 5 * np.sqrt(p * (1 - p) / n)).all()


# Budgets


@pytest.mark.parametrize(
    "rule",
    [
        QuFUR(100.0, budget=3),
        Uniform(1.0, budget=3),
        Greedy(3),
        Threshold(0.1, budget=3),
        DomainOracle(durations=[3], dims=[1], budget=3),
    ],
    ids=repr,
)
def test_budget_is_spent_and_not_exceeded(rule):
    spending, probability, query = offers(rule, np.ones(8), np.random.default_rng(0), np.zeros(1, dtype=int))
    assert query.tolist() == [True] * 3 + [False] * 5
    assert probability.tolist() == [1] * 3 + [0] * 5
    assert (spending.spent, spending.left) == (3, 0)


def test_left_is_none_without_a_budget():
    assert QuFUR(1.0).start().left is None
    assert Learner(Ridge(1), Uniform(0.5)).left is None


# Fixed budget


@pytest.mark.parametrize(
    ("horizon", "copies"),
    [
        (1, 1),
        (2, 4),
        (3, 6),
        (4, 7),
        (5, 8),
        (8, 10),
        (64, 19),
        (1000, 31),
        (1024, 31),
        (1025, 32),
        (1500, 33),
    ],
)
def test_number_of_copies(horizon, copies):
    rule = FixedBudget(1000, horizon)
    assert rule.copies == len(rule.caps()) == copies
    assert set(rule.caps()) == {1000 // copies}
    np.testing.assert_allclose(rule.alphas, [2**i / horizon**2 for i in range(copies)], rtol=1e-15)


def test_number_of_copies_is_the_exact_logarithm():
    for horizon in [*range(1, 3000), *(2**j + k for j in range(12, 60) for k in (-1, 0, 1))]:
        k = FixedBudget(10**6, horizon).copies - 1
        assert 2**k >= horizon**3
        assert k == 0 or 2 ** (k - 1) < horizon**3


@given(horizon=st.integers(1, 10**7), data=st.data())
def test_budget_below_one_label_per_copy_is_rejected(horizon, data):
    copies = math.ceil(3 * math.log2(horizon) - 1e-12) + 1
    assert FixedBudget(copies, horizon).caps()[0] == 1
    if copies > 1:
        budget = data.draw(st.integers(1, copies - 1))
        with pytest.raises(
            ValueError, match=rf"at least {copies} for .*got {budget}\. .*QuFUR\(alpha, budget"
        ):
            FixedBudget(budget, horizon)


def test_logged_probability_counts_active_copies_only():
    rule = FixedBudget(4, 2)  # one label per copy, α = 1/4, 1/2, 1, 2
    coins = np.array([[0.9, 0.9, 0.9, 0.1], [0.9, 0.1, 0.9, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    spending, probability, query = offers(rule, np.full(4, 0.4), Scripted(coins))
    assert query.tolist() == [True, True, True, False]
    # 0.1, 0.2, 0.4, 0.8; copy 3 pays first, then copy 1, then copies 0 and 2 together
    none = [0.9 * 0.8 * 0.6 * 0.2, 0.9 * 0.8 * 0.6, 0.9 * 0.6, 1.0]
    np.testing.assert_allclose(probability, 1 - np.array(none), rtol=1e-14)
    assert spending.charged.tolist() == [1, 1, 1, 1]
    assert (spending.spent, spending.left) == (3, 1)


class Scripted:
    """Generator with prescribed uniform draws."""

    def __init__(self, coins):
        self._coins = list(np.ravel(coins))

    def random(self, shape):
        return np.array([self._coins.pop(0) for _ in range(math.prod(shape))]).reshape(shape)


def test_block_handles_a_copy_that_runs_out_inside_it():
    rule = FixedBudget(8, 2)  # two labels per copy
    blocks, spending = rule.start(), None
    offer = blocks.offer(6, np.random.default_rng(1), None)
    delta = np.array([0.3, 1.0, 0.5, 2.0, 0.1, 1.0])
    buy(offer, delta)
    together = offer.close(delta)
    spending, one_by_one, query = offers(rule, delta, np.random.default_rng(1))
    np.testing.assert_array_equal(offer.query, query)
    np.testing.assert_allclose(together, one_by_one, rtol=1e-14)
    np.testing.assert_array_equal(blocks.charged, spending.charged)
    assert spending.charged.max() == 2
    assert blocks.spent == spending.spent


def adversarial(kind, horizon, rng):
    """Return uncertainties that make every copy spend all of its labels, in different orders."""
    return {
        "certain": np.full(horizon, 1e12),
        "rising": np.geomspace(1e-6, 1e6, horizon),
        "falling": np.geomspace(1e6, 1e-6, horizon),
        "random": 10.0 ** rng.uniform(-4, 6, horizon),
        "one copy at a time": horizon**2 / 2.0 ** (np.arange(horizon) % 40),
    }[kind]


@pytest.mark.parametrize("kind", ["certain", "rising", "falling", "random", "one copy at a time"])
@pytest.mark.parametrize("seed", range(4))
def test_fixed_budget_holds_against_any_uncertainties(kind, seed):
    rng = np.random.default_rng(seed)
    for _ in range(15):
        horizon = int(rng.integers(1, 120))
        copies = FixedBudget(10**6, horizon).copies
        budget = int(rng.integers(copies, 4 * copies))
        spending, _, query = offers(
            FixedBudget(budget, horizon), adversarial(kind, 2 * horizon, rng), np.random.default_rng(rng)
        )
        assert query.sum() == spending.spent <= budget
        assert spending.charged.max() <= budget // copies
        assert spending.left == budget - spending.spent >= 0


@pytest.mark.parametrize("labels", [1, 2, 5])
@pytest.mark.parametrize("horizon", [2, 8, 50, 1000])
def test_fixed_budget_holds_when_copies_never_agree(horizon, labels):
    """The worst case: each example is queried by a single copy, until every copy is exhausted."""
    copies = FixedBudget(10**6, horizon).copies
    for budget in (copies * labels, copies * (labels + 1) - 1):
        turns = np.arange(copies * (labels + 2)) % copies
        coins = np.where(np.arange(copies) == turns[:, None], 0.0, 1 - 1e-16)
        delta = 0.5 * horizon**2 / 2.0 ** (copies - 1)  # p = 1/2 for the copy with the largest α
        spending, _, query = offers(FixedBudget(budget, horizon), np.full(len(turns), delta), Scripted(coins))
        assert query.sum() == spending.spent == copies * labels <= budget
        assert (spending.charged == labels).all()


@pytest.mark.filterwarnings("ignore::qufur.OutlierWarning")
@pytest.mark.parametrize("hundred", range(10 if SOAK else 3))
def test_fixed_budget_never_exceeds_its_budget(hundred):
    """1000 seeds in total, each with another B and T, on inputs of any norm."""
    exhausted = 0
    for seed in range(100 * hundred, 100 * hundred + 100):
        rng = np.random.default_rng(seed)
        horizon = int(rng.integers(1, 80))
        copies = FixedBudget(10**6, horizon).copies
        budget = int(rng.integers(copies, 3 * copies + 5))
        X = rng.normal(size=(horizon, 2)) * 10.0 ** rng.uniform(-1, 3, (horizon, 1))
        learner = Learner(Ridge(2, cap=False), FixedBudget(budget, horizon), seed=seed)
        trace = run(learner, Arrays(X, X[:, 0]), delay=int(rng.integers(0, 20)))
        assert trace.queries == learner.spent <= budget
        exhausted += trace.queries >= budget // copies
    assert exhausted > 80, "with copies that rarely run out nothing is shown"


@pytest.mark.filterwarnings("ignore::qufur.OutlierWarning")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    horizon=st.integers(1, 200),
    extra=st.integers(0, 60),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.1, 1.0, 30.0, 1000.0]),
    block=st.sampled_from([None, 1, 13]),
)
def test_fixed_budget_never_exceeds_any_budget(horizon, extra, seed, scale, block):
    budget = FixedBudget(10**6, horizon).copies + extra
    X = np.random.default_rng(seed).normal(size=(horizon, 3)) * scale
    learner = Learner(Ridge(3, cap=False), FixedBudget(budget, horizon), seed=seed)
    assert run(learner, Arrays(X, X[:, 0]), block=block).queries <= budget


# Domain-aware rates


def optimum(durations, dims, budget):
    """Solve the program of the appendix over log μ numerically, without its closed form."""
    T, d = np.array(durations, dtype=float), np.array(dims, dtype=float)
    z = np.full(len(T), np.log(0.9 * budget / T.sum()))
    for _ in range(5):  # SLSQP stops early; restarting it there gives the last digits
        z = minimize(
            lambda z: (d * np.exp(-z)).sum() / d.sum(),
            z,
            jac=lambda z: -d * np.exp(-z) / d.sum(),
            bounds=[(-20, 0)] * len(T),
            constraints={
                "type": "ineq",
                "fun": lambda z: 1 - np.exp(z) @ T / budget,
                "jac": lambda z: -np.exp(z) * T / budget,
            },
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 1000},
        ).x
    return np.exp(z)


@pytest.mark.parametrize(
    ("durations", "dims", "budget"),
    [
        ([100, 100], [4, 1], 30),
        ([100, 100], [4, 1], 120),
        ([100, 100], [4, 1], 180),
        ([50, 100, 200], [6, 3, 1], 60),
        ([50, 100, 200], [6, 3, 1], 200),
        ([50, 100, 200], [6, 3, 1], 349),
        ([10, 500, 40, 90], [10, 5, 1, 3], 120),
    ],
)
def test_rates_solve_the_optimisation_problem(durations, dims, budget):
    rates = DomainOracle(durations=durations, dims=dims, budget=budget).rates
    np.testing.assert_allclose(rates, optimum(durations, dims, budget), atol=1e-6)


domains = st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 50)), min_size=1, max_size=8)


@given(domains=domains, share=st.floats(0.001, 1.2))
@example(domains=[(10, 10), (10, 10)], share=0.5)
@example(domains=[(1, 50), (1000, 1)], share=0.002)
def test_rates_spend_the_budget_exactly_and_are_optimal(domains, share):
    T, d = (np.array(column, dtype=float) for column in zip(*domains, strict=True))
    budget = max(1, int(share * T.sum()))
    rates = domain_rates(T.astype(int), d.astype(int), budget)
    assert ((rates > 0) & (rates <= 1)).all()
    np.testing.assert_allclose(rates @ T, min(budget, T.sum()), rtol=1e-12)
    # The conditions of the appendix: below 1 all prices d/(μ²T) agree, and at 1 they are no lower.
    price, free = d / (rates**2 * T), rates < 1 - 1e-12
    if free.any():
        np.testing.assert_allclose(price[free], price[free][0], rtol=1e-9)
        assert (price[~free] >= price[free][0] * (1 - 1e-9)).all()


def test_small_budgets_follow_the_formula_of_the_paper():
    T, d = np.array([100, 400, 50]), np.array([4, 3, 2])
    budget = 30  # below Σ√(d T) min √(T/d), so no rate reaches 1
    expected = budget * np.sqrt(d / T) / np.sqrt(d * T).sum()
    assert expected.max() < 1
    np.testing.assert_allclose(domain_rates(T, d, budget), expected, rtol=1e-14)


def test_large_budgets_buy_domains_whole():
    np.testing.assert_allclose(domain_rates([10, 1000], [10, 1], 110), [1, 0.1], rtol=1e-14)
    np.testing.assert_allclose(domain_rates([10, 1000], [10, 1], 1010), [1, 1], rtol=1e-14)
    np.testing.assert_allclose(domain_rates([10, 1000], [10, 1], 5000), [1, 1], rtol=1e-14)
    # boundary: B = Σ√(dT) min √(T/d) makes the largest rate exactly 1
    np.testing.assert_allclose(domain_rates([100, 100], [4, 1], 150), [1, 0.5], rtol=1e-14)


def test_oracle_probability_depends_on_the_domain():
    rule = DomainOracle(durations=[100, 100], dims=[4, 1], budget=60)
    np.testing.assert_allclose(rule.probability(np.zeros(3), np.array([1, 0, 1])), [0.2, 0.4, 0.2])


# Rules as dataclasses


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_rules_are_immutable_and_comparable(kind):
    for rule in kind.examples(100):
        assert rule.start() is not rule.start()
        with pytest.raises(AttributeError, match="cannot assign"):
            rule.budget = 5
        assert rule == kind(**{name: getattr(rule, name) for name in rule.__dataclass_fields__})


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_probability_does_not_fall_as_uncertainty_rises(kind):
    delta, domain = np.linspace(0, 4, 50), np.zeros(50, dtype=int)
    for rule in kind.examples(100):
        p = np.atleast_2d(rule.probability(delta, domain))
        assert ((p >= 0) & (p <= 1)).all()
        assert (np.diff(p, axis=1) >= 0).all()


# Thresholds


@pytest.mark.parametrize("rule", [rule for kind in RULES for rule in kind.examples(1000)], ids=repr)
def test_thresholds_invert_the_probability(rule):
    """The closed form of each rule equals the bisection of its `probability`."""
    rng, spending = np.random.default_rng(8), rule.start()
    shape = len(rule.caps()), 200
    coins = rng.random(shape) if rule.random else np.full(shape, LARGEST_DRAW)
    domain = rng.integers(0, 2, shape[1])
    thresholds = np.broadcast_to(spending.thresholds(coins, domain), shape)
    slow = bisect_threshold(lambda delta: spending.probability(delta, domain), coins)
    np.testing.assert_array_equal(thresholds == -1.0, slow == -1.0)
    np.testing.assert_allclose(thresholds, slow, rtol=1e-12)


def test_rule_without_thresholds_makes_the_same_queries():
    class Bare(QuFUR):
        thresholds = Rule.thresholds

    X = np.random.default_rng(0).standard_normal((300, 5))
    stream = Arrays(X, X[:, 0])
    fast, slow = (run(Learner(Ridge(5), kind(0.8, floor=0.05)), stream) for kind in (QuFUR, Bare))
    np.testing.assert_array_equal(fast.query, slow.query)
