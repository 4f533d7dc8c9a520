"""The kernel theorem with its effective dimension, and the non-linear theorems."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.structures import alphas, deltas, noises, structures

from qufur import FixedBudget, KernelRidge, Learner, QuFUR, run, theory
from qufur.hypotheses import FiniteLinear, LinearBall
from qufur.models.confidence_set import ConfidenceSet
from qufur.streams import Arrays
from qufur.streams.base import Chunk, Stream
from qufur.theory import Structure


# Kernels
def by_eigenvalues(gram, lam):
    s = len(gram)
    values = sorted(np.linalg.eigvalsh(gram), reverse=True)
    return next((j for j in range(1, s + 1) if j * lam * math.log(s) > sum(values[j:]) + 1e-12), 1)


@given(st.integers(1, 30), st.integers(1, 4), st.sampled_from([0.01, 0.1, 1.0]), st.integers(0, 1000))
@settings(deadline=None)
def test_effective_dimension_matches_its_definition(count, dim, lam, seed):
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

    X = np.random.default_rng(seed).uniform(-1, 1, (count, dim))
    for kernel in (RBF(0.5), DotProduct(sigma_0=0), ConstantKernel(0.3) * RBF(2.0) + DotProduct()):
        dimension = theory.effective_dimension(X, kernel, regularization=lam)
        assert dimension == by_eigenvalues(kernel(X), lam)
        assert dimension == theory.effective_dimension(kernel(X), regularization=lam)
        assert theory.effective_dimension(X, kernel, regularization=10 * lam) <= dimension <= count
    assert theory.effective_dimension(X, DotProduct(sigma_0=0), regularization=lam) <= dim


def test_effective_dimension_of_one_input_is_one():
    assert theory.effective_dimension([[1.0]]) == 1
    assert theory.effective_dimension(np.zeros((5, 5))) == 1


def test_effective_dimension_of_smooth_kernels_grows_with_logarithms():
    from sklearn.gaussian_process.kernels import RBF

    rng = np.random.default_rng(0)
    for dim in (1, 2):
        inputs = [rng.uniform(-1, 1, (count, dim)) for count in (50, 400)]
        few, many = (theory.effective_dimension(X, RBF(0.5), regularization=0.1) for X in inputs)
        assert few <= many <= few * (math.log(400) / math.log(50)) ** (dim + 1)


rank_one = {"dim": st.integers(2, 5), "seed": st.integers(0, 10**6), "scale": st.floats(-2, 1.3)}


def eigenvalues_after(old, z):
    """Return the eigenvalues of diag(old) + z zᵀ in descending order."""
    return np.linalg.eigvalsh(np.diag(old) + np.outer(z, z))[::-1]


@given(**rank_one)
def test_rank_one_update_lemmas_on_eigenvalues_hold(dim, seed, scale):
    rng = np.random.default_rng(seed)
    old = np.sort(rng.exponential(10.0**scale, dim))[::-1]
    z = rng.standard_normal(dim)
    z *= rng.choice([1.0, rng.random()]) / np.linalg.norm(z)
    new = eigenvalues_after(old, z)
    assert (new >= old - 1e-9).all()
    assert new.sum() == pytest.approx(old.sum() + z @ z)
    # Lemma 11: new is old + z² after transfers from smaller to larger eigenvalues; each gives at most its z².
    # Such transfers exist if and only if no partial sum of new − old − z² is negative and new ≥ old.
    assert (np.cumsum(new - old - z**2) >= -1e-9).all()


def test_printed_bound_on_eigenvalue_transfers_is_violated():
    # The new eigenvalues are 10.69, 10 and 0.31. The first must be 10 + z² + Σ y, so it cannot be 10.
    old, z = np.array([10.0, 10.0, 0.0]), np.full(3, 3**-0.5)
    new = eigenvalues_after(old, z)
    np.testing.assert_allclose(new, [(11 + math.sqrt(323 / 3)) / 2, 10, (11 - math.sqrt(323 / 3)) / 2])
    pairs = [(0, 1), (0, 2), (1, 2)]  # transfers to the first from the second
    received, given_away = (
        np.array([[float(i == pair[end]) for pair in pairs] for i in range(3)]) for end in (0, 1)
    )
    least = linprog(
        [float(pair == (0, 2)) for pair in pairs],
        A_eq=received - given_away,
        b_eq=new - old - z**2,
        A_ub=given_away,
        b_ub=z**2,
    )
    assert least.status == 0, least.message
    assert least.fun == pytest.approx(new[0] - 10 - 2 / 3, abs=1e-8)
    assert least.fun > 1.7 * (z[0] * z[2]) ** 2 / (old[0] - old[2] - 1)


@given(**rank_one)
def test_kernel_variance_is_below_the_growth_of_eigenvalues(dim, seed, scale):
    rng, lam = np.random.default_rng(seed), 10.0**scale
    rows = rng.standard_normal((rng.integers(1, 12), dim))
    N = lam * np.eye(dim)
    for a in rows / np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]:
        before, after = np.linalg.eigvalsh(N), np.linalg.eigvalsh(N + np.outer(a, a))
        growth = ((after - before) / before).sum()
        variance = a @ np.linalg.solve(N, a)
        assert growth * (1 - 1e-9) - 1e-12 <= variance
        # By 1 + variance = Π (1 + growth_j) and variance ≤ 1/λ, without the lemma that fails; below 4 + 6/λ.
        assert variance <= max(math.e - 1, 1 / lam) * growth * (1 + 1e-9) + 1e-12
        N += np.outer(a, a)


@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_query_uncertainty_stays_below_the_effective_dimension(lam):
    from sklearn.gaussian_process.kernels import RBF

    rng = np.random.default_rng(1)
    X, domain = rng.uniform(-1, 1, (300, 2)), rng.integers(0, 2, 300)
    X[domain == 1, 1] = 0
    trace = run(
        Learner(KernelRidge(RBF(0.5), regularization=lam), QuFUR(2.0), seed=1), Arrays(X, np.zeros(300))
    )
    for u in (0, 1):
        bought = trace.query & (domain == u)
        d, s = theory.effective_dimension(X[bought], RBF(0.5), regularization=lam), bought.sum()
        most = 2 * d * (math.log(1 + s / (lam * d)) + math.log(s))
        assert d <= trace.uncertainty[bought].sum() <= most
        assert d < s / 2


def test_kernel_bound_covers_the_log_determinant():
    from sklearn.gaussian_process.kernels import RBF

    rng = np.random.default_rng(0)
    for count, dim, lam in [(40, 1, 0.1), (100, 2, 1.0), (60, 3, 0.01), (1, 1, 1.0)]:
        X = rng.uniform(-1, 1, (count, dim))
        K = RBF(0.7)(X)
        d = theory.effective_dimension(X, RBF(0.7), regularization=lam)
        gain = np.linalg.slogdet(np.eye(count) + K / lam)[1]
        assert gain <= d * (math.log(1 + count / (lam * d)) + math.log(count)) + 1e-12
        # In expectation and at huge α the regret bound tends to 4 times the weight S_u.
        bounds = theory.kernel_bounds(Structure([count], [d]), 1e30, regularization=lam, delta=None)
        assert bounds.regret == pytest.approx(
            4 * min(count, 2 * d * math.log((1 + count / (lam * d)) * count))
        )


@given(structures, alphas, noises, deltas)
def test_kernel_bounds_are_linear_bounds_times_a_logarithm(structure, alpha, noise, delta):
    linear = theory.qufur_bounds(structure, alpha, noise=noise, norm_bound=2.0, delta=delta)
    kernel = theory.kernel_bounds(structure, alpha, noise=noise, regularization=0.25, delta=delta)
    assert linear.queries <= kernel.queries <= 3 * linear.queries * (1 + math.log(structure.horizon))
    assert linear.regret <= kernel.regret <= 3 * linear.regret * (1 + math.log(structure.horizon))


def test_printed_optimum_of_the_relaxed_program_is_not_optimal():
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
def test_confidence_radius_matches_its_formula_and_the_model():

    log_covering = theory.linear_log_covering(3, 100**-2.0, norm_bound=2.0)
    assert log_covering == pytest.approx(3 * math.log(1 + 4e4))
    given = {"log_covering": log_covering, "horizon": 100, "noise": 0.7, "delta": 0.1}
    first = 8 * 0.49 * (math.log(40) + log_covering)
    assert theory.confidence_radius(0, **given) == pytest.approx(first)
    second = 2 * 9 / 100**2 * (16 + math.sqrt(2 * 0.49 * math.log(16 * 81 / 0.1)))
    assert theory.confidence_radius(9, **given) == pytest.approx(first + second)
    model = ConfidenceSet(LinearBall(3, norm_bound=2.0), horizon=100, noise=0.7, failure_probability=0.1)
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


def test_domain_complexity_covers_the_sum_of_its_lemma():
    log_covering, noise, delta = math.log(5), 0.05, 0.1
    for T_u, d in [(1, 1), (2, 1), (10, 1), (50, 3), (1000, 2)]:
        structure = Structure([T_u], [d])
        given = {"log_covering": log_covering, "noise": noise, "delta": delta}
        beta = theory.confidence_radius(T_u, horizon=T_u, **given)
        # The largest Δ, in non-increasing order, that Lemma 7 allows.
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


def test_nonlinear_budget_bounds_equal_those_of_the_best_copy_with_spare_labels():
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


def test_nonlinear_runs_stay_below_their_bounds():

    grid = np.linspace(-1, 1, 9)[:, None]
    x = np.ones((300, 1))
    noise, alpha, delta = 0.02, 0.2, 1e-6
    d = theory.eluder_dimension(grid @ x.T, 300.0**-2)
    assert d == 1
    bounds = theory.nonlinear_bounds(
        Structure([300], [d]), alpha, log_covering=theory.finite_log_covering(9), noise=noise, delta=delta
    )
    assert (
        bounds.queries < 300
    )  # the bound is not trivial; a run violates it with odds of at most 1e-6 per run
    assert bounds.regret < 1200

    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = np.full(300, grid[rng.integers(9), 0])
        stream = Arrays(x, truth + noise * rng.standard_normal(300), truth=truth)
        model = ConfidenceSet(FiniteLinear(grid), horizon=300, noise=noise, failure_probability=delta)
        trace = run(Learner(model, QuFUR(alpha), seed=seed), stream)
        assert trace.queries <= bounds.queries
        assert trace.total_regret <= bounds.regret


def test_number_of_wide_confidence_sets_is_bounded_by_the_eluder_dimension():
    rng = np.random.default_rng(2)
    for seed in range(6):
        inputs, thetas = rng.uniform(-1, 1, (8, 2)) / 1.5, rng.uniform(-1, 1, (30, 2)) / 1.5
        chosen = rng.integers(0, 8, 200)
        truth = inputs[chosen] @ thetas[0]
        stream = Arrays(inputs[chosen], truth + 0.05 * rng.standard_normal(200), truth=truth)
        model = ConfidenceSet(FiniteLinear(thetas), horizon=200, noise=0.05)
        trace = run(Learner(model, QuFUR(1.0), seed=seed), stream)
        table, beta = thetas @ inputs.T, model.beta(200)
        part = np.isin(chosen, rng.choice(8, 5, replace=False))
        for among, columns in ((np.ones(200, dtype=bool), range(8)), (part, np.unique(chosen[part]))):
            widths = trace.uncertainty[among & trace.query]
            for epsilon in (0.05, 0.2, 0.5):
                dimension = theory.eluder_dimension(table[:, columns], epsilon)
                assert (widths > epsilon**2).sum() < (4 * beta / epsilon**2 + 1) * dimension
            # Their sum is at most the complexity of the domain.
            structure = Structure(
                [among.sum()], [theory.eluder_dimension(table[:, columns], among.sum() ** -2.0)]
            )
            most = theory.domain_complexity(structure, log_covering=math.log(30), noise=0.05)
            assert widths.sum() <= most.item() < 4 * among.sum()


class LeastKnownDomain(Stream):
    """Stream that repeats e₀ or e₁, whichever is less certain, until each has occurred as often as set."""

    dim, learner = 2, None

    def __init__(self, theta, noise, durations, seed):
        self.theta, self.noise, self.durations, self.seed = theta, noise, durations, seed
        self.horizon = sum(durations)

    def against(self, learner):
        self.learner = learner
        return self

    def chunks(self, size):
        rng, left = np.random.default_rng(self.seed), list(self.durations)
        while any(left):
            u = max((u for u in (0, 1) if left[u]), key=lambda u: self.learner.uncertainty(np.eye(2)[[u]])[0])
            left[u] -= 1
            truth = self.theta[[u]]
            noise = self.noise * rng.standard_normal(1)
            yield Chunk(np.eye(2)[[u]], truth + noise, truth, np.array([u]))


def test_nonlinear_bounds_hold_when_an_adversary_chooses_the_domain():
    grid = np.array([[a, b] for a in np.linspace(-1, 1, 9) for b in np.linspace(-1, 1, 9)])
    durations, noise, alpha, delta = (300, 200), 0.02, 0.2, 1e-6
    dims = [theory.eluder_dimension(grid[:, [u]], durations[u] ** -2.0) for u in (0, 1)]
    given = {"log_covering": theory.finite_log_covering(81), "noise": noise, "delta": delta}
    bounds = theory.nonlinear_bounds(Structure(durations, dims), alpha, **given)
    assert (
        bounds.queries < 500
    )  # the bound is not trivial; a run violates it with odds of at most 1e-6 per run
    assert bounds.regret < 2000
    for seed in range(2):
        theta = grid[np.random.default_rng(seed).integers(81)]
        model = ConfidenceSet(FiniteLinear(grid), horizon=500, noise=noise, failure_probability=delta)
        stream = LeastKnownDomain(theta, noise, durations, seed)
        trace = run(Learner(model, QuFUR(alpha), seed=seed), stream)
        assert np.bincount(trace.domain).tolist() == [300, 200]
        assert (np.diff(trace.domain) != 0).sum() > 2
        assert trace.queries <= bounds.queries
        assert trace.total_regret <= bounds.regret


def test_linear_class_costs_a_factor_of_the_dimension_more():
    d, T_u = 20, 10**6
    for d_u in (2, 5, 20):
        log_covering = theory.linear_log_covering(d, T_u**-2.0)
        eluder = theory.linear_eluder_bound(d_u, T_u**-2.0)
        assert d_u <= eluder <= 12 * d_u * math.log(T_u)
        assert d <= log_covering <= 3 * d * math.log(T_u)
        complexity = theory.domain_complexity(Structure([T_u], [eluder]), log_covering=log_covering).item()
        assert d_u * d <= complexity <= min(4 * T_u, 1500 * d_u * d * math.log(T_u) ** 3)
