"""Tests of uniform and domain-aware querying, costs, and online-to-batch conversion."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom
from tests.structures import noises, structures

from qufur import Learner, Ridge, Uniform, run, theory
from qufur.streams import HiddenDomains
from qufur.theory import Bounds, Structure


# Baselines
def test_uniform_bounds_match_their_formula_and_cover_runs():
    by_hand = 4 * 2 * 3 * math.log(1 + 500 / 3) / 0.5
    assert theory.uniform_bounds(3, 500, 0.5) == Bounds(250.0, pytest.approx(by_hand))
    for rate in (0.5, 1.0):
        sure = theory.uniform_bounds(3, 500, rate, delta=1e-6)
        for seed in range(5):  # together wrong with odds of at most 1e-5
            stream = HiddenDomains([500], [3], noise=1.0, seed=seed)
            trace = run(Learner(Ridge(3), Uniform(rate), seed=seed), stream)
            assert trace.queries <= sure.queries
            assert trace.total_regret <= sure.regret


@given(st.integers(1, 50), st.integers(1, 10_000), noises, st.floats(0, 1))
def test_qufur_on_one_domain_is_of_the_order_of_uniform_querying(dim, per_dim, noise, where):
    structure = Structure([dim * per_dim], [dim])
    low, high = theory.alpha_range(structure, noise=noise)
    alpha = min(max(low ** (1 - where) * high**where, low), high)
    order = theory.qufur_order(structure, alpha, noise=noise)
    rate = (order.queries - 1) / structure.horizon
    assert order.regret == pytest.approx(max(1, noise) ** 2 * dim / rate)  # η̃² d/μ


@given(structures, st.floats(0.001, 1.2))
@settings(max_examples=60, deadline=None)
def test_oracle_rates_match_a_numerical_solver(structure, share):
    T, d = structure.arrays
    budget = max(1, round(share * structure.horizon))
    rates = theory.domain_rates(structure.durations, structure.dims, budget)
    # In ln μ, with both sides scaled to order 1, the program is convex and smooth.
    regret = (d / rates).sum()
    solved = minimize(
        lambda v: (d * np.exp(-v)).sum() / regret,
        np.log(np.full(len(T), min(1.0, budget / T.sum()))),
        jac=lambda v: -d * np.exp(-v) / regret,
        bounds=[(math.log(1e-9), 0.0)] * len(T),
        constraints={
            "type": "ineq",
            "fun": lambda v: 1 - (T * np.exp(v)).sum() / budget,
            "jac": lambda v: -T * np.exp(v) / budget,
        },
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert rates @ T <= budget * (1 + 1e-9)
    assert solved.fun == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(np.exp(solved.x), rates, rtol=0.02)


@given(structures, st.floats(0.001, 1.2), noises)
def test_oracle_rates_have_threshold_structure(structure, share, noise):
    T, d = structure.arrays
    budget = max(1, round(share * structure.horizon))
    tau = theory.oracle_threshold(structure, budget)
    rates = theory.domain_rates(structure.durations, structure.dims, budget)
    np.testing.assert_allclose(rates, np.minimum(1, np.sqrt(d / T) / tau), rtol=1e-9)
    order, eta = theory.oracle_order(structure, budget, noise=noise), max(1, noise)
    assert order.queries == pytest.approx(min(budget, structure.horizon))
    if budget <= theory.largest_budget(structure):
        assert order.regret == pytest.approx(theory.fixed_budget_order(structure, budget, noise=noise))
    # QuFUR at the matching α has the same order at every budget.
    alpha = theory.oracle_alpha(structure, budget, noise=noise)
    assert alpha == pytest.approx(1 / (tau * eta) ** 2)
    matched = theory.qufur_order(structure, alpha, noise=noise)
    assert matched.queries - 1 == pytest.approx(order.queries)
    assert matched.regret == pytest.approx(order.regret)


@given(structures, st.integers(1, 10_000))
def test_oracle_is_no_worse_than_equal_rates(structure, budget):
    equal = min(1.0, budget / structure.horizon)
    order = theory.oracle_order(structure, budget)
    assert order.regret <= sum(structure.dims) / equal * (1 + 1e-9)
    T, d = structure.arrays
    rates = theory.domain_rates(structure.durations, structure.dims, budget)
    by_hand = np.minimum(4 * T, 4 * np.minimum(T, 2 * d * np.log(1 + T / d)) / rates).sum()
    assert theory.oracle_bounds(structure, budget).regret == pytest.approx(by_hand)


# Costs
@given(structures, st.floats(1, 3), st.floats(0, 1))
def test_cost_bounds_are_consistent_with_regret_bounds(structure, noise, where):
    T, d = structure.arrays
    if (T / d).min() < noise:
        with pytest.raises(ValueError, match=r"structure of cost_ratio_range must be of T_u/d_u at least"):
            theory.cost_ratio_range(structure, noise=noise)
        return
    low, high = theory.cost_ratio_range(structure, noise=noise)
    assert low <= high * (1 + 1e-12)
    c = max(low, min(high, low ** (1 - where) * high**where))
    order = theory.qufur_order(structure, c, noise=noise)
    assert order.cost(c) - 1 == pytest.approx(2 * noise * theory.cost_order(structure, c))
    lower = theory.cost_lower_bound(structure, c, noise=noise)
    upper = theory.cost_bound(structure, c, noise=noise, norm_bound=math.sqrt(d.sum()), delta=None)
    assert lower < upper
    # The cost is at least B labels, or c times the regret after B labels.
    spent, labels = theory.cost_order(structure, c), math.ceil(theory.cost_order(structure, c))
    assert lower == pytest.approx(c * theory.regret_lower_bound(structure, labels) * labels / spent)
    assert lower < spent


def test_bounds_cost_adds_regret_and_queries():
    structure = Structure([1000], [2])
    bounds = theory.qufur_bounds(structure, 3.0)
    assert theory.cost_bound(structure, 3.0) == 3 * bounds.regret + bounds.queries == bounds.cost(3.0)


# Online to batch
def test_batch_bounds_follow_from_fixed_budget_bounds():
    assert theory.online_to_batch(5, 50) == 0.1
    order = theory.batch_order([0.2, 0.8], [5, 5], 90)
    # The bound of Theorem 2 per example.
    assert order == pytest.approx(theory.fixed_budget_order(Structure([200, 800], [5, 5]), 90) / 1000)
    one = theory.batch_bound([1.0], [2], 10**7, 10**8)
    T, delta = 10**8, 1e-16
    exact = theory.fixed_budget_bounds(Structure([T], [2]), 10**7, delta=delta).regret
    assert one == pytest.approx(exact / T + 4 * delta)
    two = theory.batch_bound([0.5, 0.5], [2, 2], 10**7, 10**8)
    assert order < one < two < 4
    assert theory.batch_bound([0.5, 0.5], [2, 2], 100, 1000) == 4


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5), st.integers(1, 10_000))
def test_batch_horizon_is_the_smallest_valid_horizon(shares, budget):
    shares = np.array(shares) / sum(shares)
    dims, m, least = list(range(1, len(shares) + 1)), len(shares), shares.min()
    T = theory.batch_horizon(shares, dims, budget)
    scale = np.sqrt(dims * shares).sum() * np.sqrt(shares / dims).min()

    def met(T):
        return T * scale >= 2 * budget and (m == 1 or T * least >= 8 * math.log(2 * m * T**2) - 1e-6)

    assert met(T)
    assert T == 1 or not met(0.99 * T - 1)
    if m > 1:  # Theorem 12's event, exactly, by the union over domains
        missed = sum(binom.cdf(math.ceil(T * p / 2) - 1, T, p) + binom.sf(2 * T * p, T, p) for p in shares)
        assert missed <= 1 / T**2
