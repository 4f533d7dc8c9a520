"""Theorems 1 and 2: their constants, and runs below them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from qufur import FixedBudget, Learner, QuFUR, Ridge, run, theory
from qufur.streams import HiddenDomains
from qufur.theory import Bounds, Structure
from qufur.theory.concentration import mean_at_most, total_at_most

from .structures import alphas, deltas, noises, structures


def bounds_by_hand(structure, alpha, noise, C, delta):
    """Follow the proof of Theorem 1 domain by domain."""
    eta2, m, T = max(1, noise) ** 2, len(structure.dims), structure.horizon
    queries = regret = 0
    kappa = max(4, 4 * noise**2 * math.log(4 * T / delta) + 2) / eta2
    for T_u, d_u in zip(structure.durations, structure.dims, strict=True):
        S = eta2 * min(T_u, 2 * d_u * math.log(1 + C**2 * T_u / d_u))
        P = math.e / (math.e - 1) * (S + eta2 * math.log(4 * m / delta))
        queries += min(T_u, alpha * S + math.sqrt(alpha * T_u * P))
        regret += min(4 * T_u, kappa * (S + math.sqrt(T_u * P / alpha)))
    return min(T, (math.e - 1) * queries + math.log(4 / delta)), regret


@given(structures, alphas, noises, st.floats(0.1, 10), st.floats(1e-6, 0.5))
def test_constants_of_theorem_1(structure, alpha, noise, C, delta):
    bounds = theory.qufur_bounds(structure, alpha, noise=noise, norm_bound=C, delta=delta)
    expected = bounds_by_hand(structure, alpha, noise, C, delta)
    assert (bounds.queries, bounds.regret) == pytest.approx(expected, rel=1e-12)


@given(structures, alphas, noises, deltas)
def test_more_labels_buy_less_regret(structure, alpha, noise, delta):
    less, more = (theory.qufur_bounds(structure, a, noise=noise, delta=delta) for a in (alpha, 2 * alpha))
    assert less.queries <= more.queries <= structure.horizon
    assert more.regret <= less.regret <= 4 * structure.horizon
    order, doubled = (theory.qufur_order(structure, a, noise=noise) for a in (alpha, 2 * alpha))
    assert order.queries <= doubled.queries
    assert doubled.regret <= order.regret


@given(structures, alphas, noises, st.floats(1e-6, 0.5))
def test_expectations_are_smaller_than_what_holds_with_high_probability(structure, alpha, noise, delta):
    mean = theory.qufur_bounds(structure, alpha, noise=noise, delta=None)
    sure = theory.qufur_bounds(structure, alpha, noise=noise, delta=delta)
    surer = theory.qufur_bounds(structure, alpha, noise=noise, delta=delta / 10)
    assert mean.queries <= sure.queries <= surer.queries
    assert mean.regret <= sure.regret <= surer.regret


@given(structures, noises, st.floats(0, 1))
def test_inside_the_range_queries_are_alpha_times_regret(structure, noise, where):
    low, high = theory.alpha_range(structure, noise=noise)
    assert low <= high
    alpha = min(max(low ** (1 - where) * high**where, low), high)
    order, eta = theory.qufur_order(structure, alpha, noise=noise), max(1, noise)
    assert order.queries - 1 == pytest.approx(eta * math.sqrt(alpha) * structure.root_sum, rel=1e-9)
    assert order.regret == pytest.approx((order.queries - 1) / alpha, rel=1e-9)
    assert order.queries - 1 >= 1 - 1e-9  # so that the 1 only doubles it


@given(structures, alphas, noises)
def test_orders_are_below_the_bounds(structure, alpha, noise):
    order = theory.qufur_order(structure, alpha, noise=noise)
    bounds = theory.qufur_bounds(structure, alpha, noise=noise, delta=0.5)
    assert order.queries - 1 <= max(bounds.queries, 1) * (1 + 1e-12)
    assert min(order.regret, 4 * structure.horizon) <= 4 * bounds.regret


def test_a_subsequence_is_a_domain_of_its_own():
    alone = theory.subsequence_bounds(400, 3, 2.0, noise=1.5, norm_bound=2.0, delta=0.01)
    assert alone == theory.qufur_bounds(Structure([400], [3]), 2.0, noise=1.5, norm_bound=2.0, delta=0.01)


def test_log_determinant_lemma_needs_its_factor():
    rng = np.random.default_rng(0)
    for dim, count, C in [(1, 1, 1.0), (1, 50, 1.0), (3, 200, 2.0), (5, 20, 0.5)]:
        X = rng.standard_normal((count, dim))
        X /= np.linalg.norm(X, axis=1)[:, None]
        M, total = np.eye(dim) / C**2, 0.0
        for x in X:
            total += min(1.0, x @ np.linalg.solve(M, x))
            M += np.outer(x, x)
        ratio = np.linalg.slogdet(M * C**2)[1]
        assert total <= 2 * ratio
        assert total <= theory.log_det_bound(np.array([count]), np.array([dim]), C).item()
        if count == 1:
            assert total > ratio  # the lemma as printed


def test_concentration_at_its_worst():
    # Bernoulli sums are where exp is tight: the probability of failure is exact, and below δ.
    for n, p, delta in [(50, 0.02, 0.1), (200, 0.3, 0.05), (1000, 0.001, 0.01)]:
        price, mean, totals = math.log(1 / delta), n * p, np.arange(n + 1)
        too_low = mean_at_most(totals.astype(float), 1.0, price) < mean
        too_high = totals > total_at_most(mean, 1.0, price)
        chances = binom.pmf(totals, n, p)
        assert chances[too_low].sum() <= delta
        assert chances[too_high].sum() <= delta


@pytest.mark.parametrize("order", ["sequential", "shuffled"])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_runs_stay_below_theorem_1(order, noise):
    # The bounds hold together with probability 1 − 1e-6 for every run: 24 runs fail with odds below 3e-5.
    structure, part = Structure([300, 200, 400], [6, 2, 1]), slice(100, 700, 3)
    for alpha in (0.05, 1.0, 20.0):
        bounds = theory.qufur_bounds(structure, alpha, noise=noise, delta=1e-6)
        for seed in range(2):
            stream = HiddenDomains(structure.durations, structure.dims, noise=noise, order=order, seed=seed)
            trace = run(Learner(Ridge(stream.dim, noise=noise), QuFUR(alpha), seed=seed), stream)
            assert trace.queries <= bounds.queries
            assert trace.total_regret <= bounds.regret
            X = np.concatenate([chunk.X for chunk in stream.chunks(1000)])[part]
            dim = np.linalg.matrix_rank(X)
            within = theory.subsequence_bounds(len(X), int(dim), alpha, noise=noise, delta=1e-6)
            assert trace.query[part].sum() <= within.queries
            assert trace.regret[part].sum() <= within.regret


def test_mean_runs_stay_below_the_expectations():
    structure, alpha = Structure([600, 300], [2, 4]), 3.0
    bounds = theory.qufur_bounds(structure, alpha, delta=None)
    traces = [
        run(
            Learner(Ridge(6), QuFUR(alpha), seed=seed),
            HiddenDomains([600, 300], [2, 4], noise=1.0, seed=seed),
        )
        for seed in range(10)
    ]
    queries, regret = (np.array(x) for x in zip(*((t.queries, t.total_regret) for t in traces), strict=True))
    # A single run lies some 30 standard deviations below (166 ± 7 of 552, 48 ± 23 of 736): no seed matters.
    assert queries.mean() + 8 * queries.std() < bounds.queries < structure.horizon
    assert regret.mean() + 8 * regret.std() < bounds.regret < 4 * structure.horizon


@given(structures, st.integers(1, 10**6))
def test_fixed_budget_order(structure, budget):
    order = theory.fixed_budget_order(structure, budget)
    assert order == pytest.approx(sum(map(math.sqrt, np.prod(structure.arrays, axis=0))) ** 2 / budget)
    if budget <= theory.largest_budget(structure):
        alpha = (budget / structure.root_sum) ** 2
        low, high = theory.alpha_range(structure)
        assert low <= alpha * (1 + 1e-9)
        assert alpha <= high * (1 + 1e-9)
        assert theory.qufur_order(structure, alpha).regret == pytest.approx(order)


def test_introduction_example():
    d, T, B = 100, 10**6, 1000
    assert theory.fixed_budget_order(Structure([d, T - d], [d, 1]), B) == pytest.approx(
        (T + d**2) / B, rel=0.25
    )


@pytest.mark.parametrize("budget", [10**6, 10**7, 10**8])
def test_fixed_budget_bound_is_that_of_a_copy_with_labels_to_spare(budget):
    structure = Structure([10**8, 10**7], [1, 2])
    bounds = theory.fixed_budget_bounds(structure, budget, delta=0.1)
    rule = FixedBudget(budget, structure.horizon)
    copies = [theory.qufur_bounds(structure, float(alpha), delta=0.1) for alpha in rule.alphas]
    safe = [copy.regret for copy in copies if copy.queries < budget // rule.copies]
    assert bounds == Bounds(queries=float(budget), regret=min([4.0 * structure.horizon, *safe]))
    assert bounds.regret <= theory.fixed_budget_bounds(structure, budget // 2, delta=0.1).regret


def test_fixed_budget_run_stays_below():
    # Trivial at this length, as the docstring says; Q ≤ B is not.
    structure = Structure([300, 100], [2, 3])
    bounds = theory.fixed_budget_bounds(structure, 120)
    stream = HiddenDomains(structure.durations, structure.dims, noise=1.0, seed=3)
    trace = run(Learner(Ridge(stream.dim), FixedBudget(120, stream.horizon), seed=3), stream)
    assert trace.queries <= bounds.queries == 120
    assert trace.total_regret <= bounds.regret == 4 * structure.horizon
