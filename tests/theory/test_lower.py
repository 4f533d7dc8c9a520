"""Tests of the lower bounds: lemmas, upper bounds, and runs on the adversary."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution
from scipy.stats import binom
from tests.structures import alphas, structures

from qufur import DomainOracle, FixedBudget, Greedy, Learner, QuFUR, Ridge, Threshold, Uniform, run, theory
from qufur.streams import LowerBound
from qufur.theory import Structure


@pytest.mark.parametrize("labels", [0, 1, 2, 7, 30])
def test_bayes_risk_is_the_mean_posterior_variance(labels):
    # Given θ uniform, the number of ones among n draws is uniform on 0..n.
    variances = []
    for ones in range(labels + 1):
        posterior = beta_distribution(1 + ones, 1 + labels - ones)
        mean = quad(lambda x, p=posterior: x * p.pdf(x), 0, 1)[0]
        variances.append(quad(lambda x, p=posterior, m=mean: (x - m) ** 2 * p.pdf(x), 0, 1)[0])
    assert theory.bayes_risk(labels) == pytest.approx(np.mean(variances), rel=1e-8)


def test_lower_bound_lemmas_hold():
    def f(x):
        return min(x * (1 - x), (2 * x - 1) ** 2)

    assert 1 / 25 < quad(lambda x: math.sqrt(f(x)), 0, 1)[0] == pytest.approx(0.276, abs=0.001)
    for theta in np.linspace(0, 1, 21):
        for n in range(10):
            ones = np.arange(n + 1)
            error = binom.pmf(ones, n, theta) @ ((1 + ones) / (n + 2) - theta) ** 2
            assert error >= f(theta) / (2 * (n + 2)) - 1e-15
    # The lemma fails if the second label is bought only when the first is 0: a single label is then a 1.
    assert ((1 + 1) / (1 + 2) - 2 / 3) ** 2 == 0 < f(2 / 3) / (2 * 3)


@given(structures, st.integers(0, 10_000))
def test_lower_bounds_are_below_upper_bounds(structure, extra):
    budget, dim = sum(structure.dims) + extra, sum(structure.dims)
    lower, bayes = theory.regret_lower_bound(structure, budget), theory.bayes_lower_bound(structure, budget)
    assert lower <= bayes / 200
    assert bayes <= structure.horizon / 12 + 1e-9
    C = math.sqrt(dim)  # the adversary's ‖θ*‖ may be as large
    assert bayes <= theory.oracle_bounds(structure, budget, norm_bound=C).regret
    rate = min(1.0, budget / structure.horizon)
    assert bayes <= theory.uniform_bounds(dim, structure.horizon, rate, norm_bound=C).regret
    if budget >= FixedBudget(10**9, structure.horizon).copies:
        assert bayes <= theory.fixed_budget_bounds(structure, budget, norm_bound=C).regret


@given(structures, st.floats(0, 1))
def test_upper_and_lower_bound_are_of_one_order(structure, where):
    # Where both hold, Σ d_u ≤ B ≤ Σ √(d_u T_u) min √(T_u/d_u), they differ by a constant only.
    least, most = sum(structure.dims), theory.largest_budget(structure)
    assert least <= most * (1 + 1e-9)
    budget = max(least, math.floor(least ** (1 - where) * most**where))
    lower = theory.regret_lower_bound(structure, budget)
    assert theory.fixed_budget_order(structure, budget) == pytest.approx(7500 * lower)


@given(structures, alphas)
def test_qufur_cannot_beat_the_lower_bound(structure, alpha):
    C = math.sqrt(sum(structure.dims))
    upper = theory.qufur_bounds(structure, alpha, norm_bound=C, delta=None)
    budget = max(math.ceil(upper.queries), sum(structure.dims))
    assert theory.regret_lower_bound(structure, budget) <= upper.regret
    assert theory.bayes_lower_bound(structure, budget) <= upper.regret


@given(st.integers(1, 50), st.integers(1, 100), st.integers(1, 100))
def test_unstructured_lower_bound_matches_its_formula(dim, per_dim, budget):
    lower = theory.unstructured_lower_bound(dim, dim * per_dim, dim * budget)
    assert lower == pytest.approx(dim * per_dim / (7500 * budget))


def test_rules_on_the_adversary_stay_above_the_lower_bounds():
    structure, budget, seeds = Structure([240, 120], [4, 6]), 60, 40
    C = math.sqrt(10)
    rules = [
        QuFUR(0.8, budget=budget),
        Uniform(budget / 360, budget=budget),
        Greedy(budget),
        Threshold(0.2, budget=budget),
        FixedBudget(budget, 360),
        DomainOracle(durations=structure.durations, dims=structure.dims, budget=budget),
    ]
    lower = theory.bayes_lower_bound(structure, budget)
    for rule in rules:
        regrets, risks = [], []
        for seed in range(seeds):
            stream = LowerBound(structure.durations, structure.dims, seed=seed)
            trace = run(Learner(Ridge(10, norm_bound=C, noise=0.5), rule, seed=seed), stream)
            assert trace.queries <= budget
            regrets.append(trace.total_regret)
            direction = np.repeat(np.arange(10), stream.subblocks)
            before = [trace.query[:t][direction[:t] == direction[t]].sum() for t in range(360)]
            risks.append(sum(map(theory.bayes_risk, map(int, before))))
        # Single runs may be below their Bayes risk, but not the mean over θ*: 4 standard errors of
        # the difference are exceeded with odds of about 3e-5 per rule.
        gap = np.subtract(regrets, risks)
        assert gap.mean() > -4 * gap.std() / math.sqrt(seeds)
        # For every number of labels the risk is at least the closed form, with certainty.
        assert min(risks) >= lower > 200 * theory.regret_lower_bound(structure, budget)
        # The lowest mean, 16.2 ± 1.2 of Threshold, is 7 standard errors above 7.0: odds below 1e-11.
        assert np.mean(regrets) > lower
