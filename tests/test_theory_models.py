"""The kernel theorem with its effective dimension, and the non-linear theorems."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qufur import FixedBudget, Learner, QuFUR, run, theory
from qufur.hypotheses import FiniteLinear, LinearBall
from qufur.models.confidence_set import ConfidenceSet
from qufur.streams import Arrays
from qufur.theory import Structure

from .structures import alphas, deltas, noises, structures


# Kernels
def by_eigenvalues(gram, lam):
    s = len(gram)
    values = sorted(np.linalg.eigvalsh(gram), reverse=True)
    return next((j for j in range(1, s + 1) if j * lam * math.log(s) > sum(values[j:]) + 1e-12), 1)


@given(st.integers(1, 30), st.integers(1, 4), st.sampled_from([0.01, 0.1, 1.0]), st.integers(0, 1000))
@settings(deadline=None)
def test_effective_dimension_is_its_definition(count, dim, lam, seed):
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

    X = np.random.default_rng(seed).uniform(-1, 1, (count, dim))
    for kernel in (RBF(0.5), DotProduct(sigma_0=0), ConstantKernel(0.3) * RBF(2.0) + DotProduct()):
        found = theory.effective_dimension(X, kernel, regularization=lam)
        assert found == by_eigenvalues(kernel(X), lam)
        assert found == theory.effective_dimension(kernel(X), regularization=lam)
        assert theory.effective_dimension(X, kernel, regularization=10 * lam) <= found <= count
    assert theory.effective_dimension(X, DotProduct(sigma_0=0), regularization=lam) <= dim


def test_one_input_has_dimension_one():
    assert theory.effective_dimension([[1.0]]) == 1
    assert theory.effective_dimension(np.zeros((5, 5))) == 1


def test_kernel_bound_covers_the_log_determinant():
    from sklearn.gaussian_process.kernels import RBF

    rng = np.random.default_rng(0)
    for count, dim, lam in [(40, 1, 0.1), (100, 2, 1.0), (60, 3, 0.01), (1, 1, 1.0)]:
        X = rng.uniform(-1, 1, (count, dim))
        K = RBF(0.7)(X)
        d = theory.effective_dimension(X, RBF(0.7), regularization=lam)
        gain = np.linalg.slogdet(np.eye(count) + K / lam)[1]
        assert gain <= d * (math.log(1 + count / (lam * d)) + math.log(count)) + 1e-12
        # In expectation and at huge α what is left of the regret is 4 times the weight, S_u.
        bounds = theory.kernel_bounds(Structure([count], [d]), 1e30, regularization=lam, delta=None)
        assert bounds.regret == pytest.approx(
            4 * min(count, 2 * d * math.log((1 + count / (lam * d)) * count))
        )


@given(structures, alphas, noises, deltas)
def test_kernel_bounds_are_the_linear_ones_and_a_logarithm(structure, alpha, noise, delta):
    linear = theory.qufur_bounds(structure, alpha, noise=noise, norm_bound=2.0, delta=delta)
    kernel = theory.kernel_bounds(structure, alpha, noise=noise, regularization=0.25, delta=delta)
    assert linear.queries <= kernel.queries <= 3 * linear.queries * (1 + math.log(structure.horizon))
    assert linear.regret <= kernel.regret <= 3 * linear.regret * (1 + math.log(structure.horizon))


def test_printed_optimum_of_the_relaxed_program_is_none():
    def objective(alpha, epsilon, lam=1.0):
        before = np.cumsum(epsilon, axis=1) - epsilon
        return (alpha / (before + lam)).sum()

    even = np.full((2, 10), 0.5)
    first, second = np.zeros((2, 2, 10))
    first[0], second[1] = 1, 1
    assert objective(even, even) == pytest.approx(2 * sum(1 / (i + 1) for i in range(1, 11)))
    assert objective(even, even) == pytest.approx(4.04, abs=0.005)
    assert objective(second, first) == 10


# Non-linear classes
def test_confidence_radius_by_hand_and_in_the_model():

    log_covering = theory.linear_log_covering(3, 100**-2.0, norm_bound=2.0)
    assert log_covering == pytest.approx(3 * math.log(1 + 4e4))
    given = {"log_covering": log_covering, "horizon": 100, "noise": 0.7, "delta": 0.1}
    first = 8 * 0.49 * (math.log(40) + log_covering)
    assert theory.confidence_radius(0, **given) == pytest.approx(first)
    second = 2 * 9 / 100**2 * (16 + math.sqrt(2 * 0.49 * math.log(16 * 81 / 0.1)))
    assert theory.confidence_radius(9, **given) == pytest.approx(first + second)
    model = ConfidenceSet(LinearBall(3, norm_bound=2.0), horizon=100, noise=0.7, delta=0.1)
    for labels in (0, 1, 9, 100):
        assert theory.confidence_radius(labels, **given) == pytest.approx(model.beta(labels), rel=1e-12)


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_confidence_radius_covers_the_discretisation(noise):
    for horizon in (1, 10, 10**4):
        given = {"log_covering": 1.0, "horizon": horizon, "noise": noise, "delta": 0.05}
        root = noise * math.sqrt(2 * math.log(16 * horizon**2 / 0.05))
        printed = theory.confidence_radius(horizon, **given) - theory.confidence_radius(0, **given)
        assert printed >= 2 / horizon * (6 + 2 * root)
        assert root < 10


def test_domain_complexity_covers_what_its_lemma_sums():
    log_covering, noise, delta = math.log(5), 0.05, 0.1
    for T_u, d in [(1, 1), (2, 1), (10, 1), (50, 3), (1000, 2)]:
        structure = Structure([T_u], [d])
        given = {"log_covering": log_covering, "noise": noise, "delta": delta}
        beta = theory.confidence_radius(T_u, horizon=T_u, **given)
        # The largest Δ in non-increasing order that Lemma 7 leaves room for.
        ranks = np.arange(1, T_u + 1)
        largest = np.minimum(4.0, 4 * beta * d / np.maximum(ranks - d, 1e-300))
        assert theory.domain_complexity(structure, **given).item() >= largest.sum() * (1 - 1e-12)
    assert sum(1 / j for j in range(1, 10)) == pytest.approx(2.829, abs=1e-3)
    assert math.log(10) < 2.303


@given(structures, alphas, noises, st.floats(0, 100))
def test_nonlinear_bounds_follow_theorem_1(structure, alpha, noise, log_covering):
    given_class = {"log_covering": log_covering, "noise": noise, "delta": 0.1}
    R, T = theory.domain_complexity(structure, **given_class), structure.arrays[0]
    P = math.e / (math.e - 1) * (R + 4 * math.log(40 * len(R)))
    bounds = theory.nonlinear_bounds(structure, alpha, **given_class)
    assert bounds.regret == pytest.approx(np.minimum(4 * T, R + np.sqrt(T * P / alpha)).sum())
    labels = np.minimum(T, alpha * R + np.sqrt(alpha * T * P)).sum()
    assert bounds.queries == pytest.approx(min(T.sum(), (math.e - 1) * labels + math.log(40)))


def test_nonlinear_fixed_budget():
    structure, given_class = Structure([10**8, 10**7], [1, 2]), {"log_covering": 2.0, "delta": 0.1}
    budget = 10**8
    bounds = theory.nonlinear_budget_bounds(structure, budget, **given_class)
    rule = FixedBudget(budget, structure.horizon)
    copies = [theory.nonlinear_bounds(structure, float(alpha), **given_class) for alpha in rule.alphas]
    assert bounds.regret == min(c.regret for c in copies if c.queries < budget // rule.copies) < 4e8
    assert bounds.queries == budget
    assert theory.nonlinear_budget_order(structure, budget, **given_class) < bounds.regret
    # Half the budget, twice the order.
    half = theory.nonlinear_budget_order(structure, budget // 2, **given_class)
    assert half == pytest.approx(2 * theory.nonlinear_budget_order(structure, budget, **given_class))


def test_nonlinear_run_stays_below():

    grid = np.linspace(-1, 1, 9)[:, None]
    x = np.ones((300, 1))
    noise, alpha, delta = 0.02, 0.2, 1e-6
    d = theory.eluder_dimension(grid @ x.T, 300.0**-2)
    assert d == 1
    bounds = theory.nonlinear_bounds(
        Structure([300], [d]), alpha, log_covering=theory.finite_log_covering(9), noise=noise, delta=delta
    )
    assert bounds.queries < 300  # it says something; and it fails with odds of at most 1e-6 per run
    assert bounds.regret < 1200

    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = np.full(300, grid[rng.integers(9), 0])
        stream = Arrays(x, truth + noise * rng.standard_normal(300), truth=truth)
        model = ConfidenceSet(FiniteLinear(grid), horizon=300, noise=noise, delta=delta)
        trace = run(Learner(model, QuFUR(alpha), seed=seed), stream)
        assert trace.queries <= bounds.queries
        assert trace.total_regret <= bounds.regret
