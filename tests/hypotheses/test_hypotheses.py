"""Hypothesis classes: fits and disagreements against brute force, a convex solver and dense grids."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.optimize import minimize, minimize_scalar
from tests.refusals import refusal

from qufur.hypotheses import (
    Finite,
    FiniteLinear,
    FiniteTable,
    GeneralisedLinear,
    HypothesisClass,
    LinearBall,
    Parametric,
    described,
)
from qufur.hypotheses.parametric import Extremes

NAN, INF = float("nan"), float("inf")


# Finite classes


def pairwise_disagreement(values, queried, best, radius, x):
    """Return the disagreement by definition, over all pairs of members of the confidence set."""
    distance = [sum((row[i] - values[best][i]) ** 2 for i in queried) for row in values]
    left = [row for row, d in zip(values, distance, strict=True) if d <= radius]
    return max((one[x] - other[x]) ** 2 for one, other in itertools.product(left, left))


QUARTERS = st.integers(-4, 4).map(lambda i: i / 4)


@given(
    values=st.lists(st.lists(QUARTERS, min_size=4, max_size=4), min_size=1, max_size=8),
    queried=st.lists(st.integers(0, 3), max_size=6),
    labels=st.lists(QUARTERS, min_size=6, max_size=6),
    radius=st.integers(1, 64).map(lambda i: i / 16),
)
def test_finite_is_brute_force_over_all_pairs(values, queried, labels, radius):
    inputs = np.arange(4.0)[:, None]
    forms = [
        FiniteTable(inputs, values),
        Finite([lambda X, row=row: np.array(row)[X[:, 0].astype(int)] for row in values], dim=1),
    ]
    X, y = inputs[queried], np.array(labels[: len(queried)])
    losses = [sum((row[i] - label) ** 2 for i, label in zip(queried, y, strict=True)) for row in values]
    best = losses.index(min(losses))
    for form in forms:
        fit = form.fit(X, y)
        assert fit.tolist() == [best]
        assert form.predict(fit, inputs).tolist() == values[best]
        expected = [pairwise_disagreement(values, queried, best, radius, x) for x in range(4)]
        assert form.disagreement(X, fit, radius, inputs).tolist() == expected
        assert form.log_covering(0.1) == math.log(len(values))


def test_finite_linear_is_the_list_of_its_functions():
    rng = np.random.default_rng(0)
    thetas, X, y = rng.normal(size=(50, 3)), rng.normal(size=(6, 3)) / 3, rng.normal(size=6)
    for link, value in (("identity", lambda z: z), ("logistic", lambda z: 2 / (1 + np.exp(-z)) - 1)):
        short = FiniteLinear(thetas, link=link)
        long = Finite([lambda X, a=a, value=value: value(X @ a) for a in thetas], dim=3)
        fit = short.fit(X, y)
        assert fit == long.fit(X, y)
        np.testing.assert_allclose(
            short.disagreement(X, fit, 0.5, X), long.disagreement(X, fit, 0.5, X), atol=1e-14
        )


def test_finite_table_raises_for_unknown_inputs():
    table = FiniteTable([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0]])
    assert table.predict(np.zeros(1), np.array([[-0.0, 1.0]])).tolist() == [0.0]
    assert refusal(lambda: table.predict(np.zeros(1), np.array([[1.0, 0.0], [0.5, 0.5]]))) == (
        "X of FiniteTable must be among its inputs, got [0.5, 0.5] at row 1. "
        "A table has no values in between."
    )


# Intersection of the ball and the ellipsoid


def width_by_solver(queried, fit, radius, norm_bound, x):
    """Return the largest ⟨θ₁ − θ₂, x⟩ by a general solver over z, θ = fit + Az, which is well scaled."""
    gram = queried.T @ queried / radius
    A = np.linalg.inv(np.linalg.cholesky(gram + np.eye(len(fit)) / norm_bound**2)).T
    held = [
        {"type": "ineq", "fun": lambda z: 1 - (A @ z) @ gram @ (A @ z)},
        {"type": "ineq", "fun": lambda z: 1 - ((fit + A @ z) ** 2).sum() / norm_bound**2},
    ]
    held[0]["jac"] = lambda z: -2 * A.T @ gram @ (A @ z)
    held[1]["jac"] = lambda z: -2 * A.T @ (fit + A @ z) / norm_bound**2
    slope = A.T @ x
    width = 0.0
    for towards in (slope / np.linalg.norm(slope), -slope / np.linalg.norm(slope)):
        solution = minimize(
            lambda z, towards=towards: -(z @ towards),
            np.zeros(len(fit)),
            jac=lambda z, towards=towards: -towards,
            constraints=held,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert all(constraint["fun"](solution.x) > -1e-7 for constraint in held)
        width += solution.x @ towards * np.linalg.norm(slope)
    return width


@pytest.mark.parametrize("radius", [1e-6, 0.01, 0.3, 2.0, 1e4])
@pytest.mark.parametrize(("dim", "count"), [(1, 1), (2, 0), (2, 1), (2, 9), (4, 2), (4, 12)])
@pytest.mark.parametrize("norm_bound", [0.5, 1.0, 3.0])
def test_linear_ball_is_the_optimum_of_a_convex_solver(radius, dim, count, norm_bound):
    rng = np.random.default_rng([dim, count, int(10 * norm_bound)])
    ball = LinearBall(dim, norm_bound)
    X, y = rng.normal(size=(count, dim)), rng.normal(size=count)
    fit = ball.fit(X, y)
    x = rng.normal(size=(2, dim))
    disagreement = ball.disagreement(X, fit, radius, x)
    expected = [width_by_solver(X, fit, radius, norm_bound, row) ** 2 for row in x]
    np.testing.assert_allclose(disagreement, expected, rtol=1e-6)
    assert ball.disagreement(X, fit, radius, np.zeros((1, dim))).tolist() == [0.0]


def smallest_bound(gram, fit, norm_bound, x):
    """Return the smallest maximum of ⟨x, θ − fit⟩ over ellipsoids (gram + ρI) that contain the set."""
    g, V = np.linalg.eigh(gram)
    g, t, x = np.maximum(g, 0.0), V.T @ fit, V.T @ x

    def bound(log_rho):
        rho = np.exp(np.atleast_1d(log_rho))[:, None]
        r = 1 + rho[:, 0] * (norm_bound**2 - (g / (g + rho)) @ t**2)
        return np.sqrt(r * ((1 / (g + rho)) @ x**2)) - (rho / (g + rho)) @ (t * x)

    grid = np.linspace(-60, 60, 6001) - 2 * math.log(norm_bound)
    best = grid[np.argmin(bound(grid))]
    near = minimize_scalar(
        lambda log_rho: bound(log_rho)[0],
        bounds=(best - 0.02, best + 0.02),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return min(near.fun, norm_bound * np.linalg.norm(x) - x @ t)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), log_radius=st.floats(-8, 4), log_norm=st.floats(-2, 2))
def test_linear_ball_is_the_smallest_dual_bound_to_1e_8(seed, log_radius, log_norm):
    rng = np.random.default_rng(seed)
    dim, count = int(rng.integers(1, 6)), int(rng.integers(0, 8))
    X = rng.normal(size=(count, dim)) * 10.0 ** rng.uniform(-1, 1, (count, 1))
    C, radius = 10.0**log_norm, 10.0**log_radius
    ball = LinearBall(dim, C)
    fit = ball.fit(X, rng.normal(size=count))
    x = rng.normal(size=dim)
    width = sum(smallest_bound(X.T @ X / radius, fit, C, sign * x) for sign in (1.0, -1.0))
    computed = math.sqrt(ball.disagreement(X, fit, radius, x[None])[0])
    assert computed == pytest.approx(width, rel=1e-8, abs=1e-8 * C)


def exact_width(X, fit, radius, norm_bound, x):
    """Return the largest ⟨θ₁ − θ₂, x⟩ with 50 digits, by golden section on the dual."""
    rows, C = mp.matrix(X.tolist()), mp.mpf(norm_bound)
    values, Q = mp.eigsy(rows.T * rows / radius)
    g = [value if value > max(values) * mp.mpf(10) ** -35 else mp.mpf(0) for value in values]
    t, x = list(Q.T * mp.matrix(fit.tolist())), list(Q.T * mp.matrix(x.tolist()))

    def bound(log_rho, sign):
        rho = mp.exp(log_rho)
        w = [1 / (gi + rho) for gi in g]
        r = 1 + rho * (C**2 - sum(gi * wi * ti**2 for gi, wi, ti in zip(g, w, t, strict=True)))
        q = sum(wi * xi**2 for wi, xi in zip(w, x, strict=True))
        return mp.sqrt(r * q) - sign * rho * sum(wi * ti * xi for wi, ti, xi in zip(w, t, x, strict=True))

    def smallest(sign):
        low, high, share = mp.mpf(-150), mp.mpf(120), (mp.sqrt(5) - 1) / 2
        for _ in range(120):
            left, right = high - share * (high - low), low + share * (high - low)
            if bound(left, sign) <= bound(right, sign):
                high = right
            else:
                low = left
        outward = C * mp.norm(mp.matrix(x)) - sign * mp.fdot(t, x)
        return min(bound((low + high) / 2, sign), outward)

    return float(smallest(1) + smallest(-1))


@pytest.mark.parametrize("seed", range(6))
def test_linear_ball_with_norms_from_1e_minus_6_to_1e6(seed):
    rng = np.random.default_rng(seed)
    dim, count, C, radius = 3, 1 + seed, 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-4, 2)
    X = rng.normal(size=(count, dim)) * 10.0 ** rng.uniform(-6, 6, (count, 1))
    ball, x = LinearBall(dim, C), rng.normal(size=dim)
    fit = ball.fit(X, rng.uniform(-1, 1, count))
    with mp.workdps(50):
        expected = exact_width(X, fit, radius, C, x)
    assert ball.confidence_set(X, fit, radius)(x[None])[0] == pytest.approx(expected, rel=1e-8)


def test_linear_ball_without_data_is_the_whole_ball():
    ball = LinearBall(3, norm_bound=2.0)
    x = np.array([[1.0, 2.0, 2.0]])
    np.testing.assert_allclose(ball.disagreement(np.empty((0, 3)), np.zeros(3), 1e-3, x), [(2 * 2 * 3) ** 2])


def test_linear_ball_with_large_norm_bound_gives_4_beta_x_in_the_inverse():
    rng = np.random.default_rng(1)
    X, y, x = rng.normal(size=(30, 3)), rng.normal(size=30), rng.normal(size=(5, 3))
    ball = LinearBall(3, norm_bound=1e3)
    expected = 4 * 0.2 * np.einsum("ij,jk,ik->i", x, np.linalg.inv(X.T @ X), x)
    np.testing.assert_allclose(ball.disagreement(X, ball.fit(X, y), 0.2, x), expected, rtol=1e-9)


def test_linear_ball_disagreement_depends_on_labels():
    ball, X = LinearBall(2), np.array([[1.0, 0.0]])
    small, large = (ball.disagreement(X, ball.fit(X, np.array([y])), 0.01, np.eye(2))[1] for y in (0.0, 0.9))
    assert small == pytest.approx(4.0)  # θ = (0, ±1)
    assert large == pytest.approx(4 * (1 - 0.8**2))  # θ = (0.8, ±0.6)


@pytest.mark.parametrize("seed", range(10))
def test_linear_fit_is_least_squares_in_the_ball(seed):
    rng = np.random.default_rng(seed)
    dim, count = 3, [1, 2, 8][seed % 3]
    X, y = rng.normal(size=(count, dim)), 3 * rng.normal(size=count)
    for norm_bound in (0.1, 1.0, 100.0):
        fit = LinearBall(dim, norm_bound).fit(X, y)
        norm = np.linalg.norm(fit)
        assert norm <= norm_bound * (1 + 1e-12)
        slope = X.T @ (X @ fit - y)
        if norm < norm_bound * (1 - 1e-9):
            np.testing.assert_allclose(fit, np.linalg.pinv(X) @ y, atol=1e-9)
        else:  # the gradient points outwards
            np.testing.assert_allclose(slope, -np.linalg.norm(slope) * fit / norm, atol=1e-8)


def test_linear_fit_has_minimum_norm():
    X = np.array([[1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(LinearBall(2).fit(X, np.array([0.4, 0.6])), [0.25, 0.25])
    assert LinearBall(2).fit(np.empty((0, 2)), np.empty(0)).tolist() == [0.0, 0.0]


def test_fine_grid_approximates_the_ball():
    rng = np.random.default_rng(2)
    X, y, x = rng.normal(size=(5, 1)), rng.normal(size=5), rng.normal(size=(9, 1))
    ball, grid = LinearBall(1), FiniteLinear(np.linspace(-1, 1, 20001)[:, None])
    for radius in (1e-3, 0.1, 10.0):
        one, other = (c.disagreement(X, c.fit(X, y), radius, x) for c in (ball, grid))
        np.testing.assert_allclose(one, other, rtol=5e-3, atol=1e-3)
        assert (other <= one * (1 + 1e-2) + 1e-9).all()


def test_covering_numbers():
    assert LinearBall(3, 2.0, input_bound=5.0).log_covering(0.1) == pytest.approx(3 * math.log(201))
    assert GeneralisedLinear(3, norm_bound=2.0).log_covering(0.1) == pytest.approx(3 * math.log(21))
    square = Parametric(
        lambda p, X: X @ p, lambda p, X: X, dim=2, bounds=[(0, 1), (0, 2)], lipschitz=math.sqrt(2)
    )
    assert square.log_covering(0.15) == pytest.approx(math.log(7) + math.log(14))


# Parametric classes


def links(z):
    return {"logistic": 2 / (1 + np.exp(-z)) - 1, "probit": np.vectorize(math.erf)(z / math.sqrt(2))}


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_fit_recovers_the_parameters(link):
    rng = np.random.default_rng(3)
    X, theta = rng.normal(size=(40, 3)), np.array([1.0, -0.5, 0.3])
    clean = links(X @ theta)[link]
    glm = GeneralisedLinear(3, link=link, norm_bound=5.0)
    np.testing.assert_allclose(glm.values(theta, X), clean)
    np.testing.assert_allclose(glm.fit(X, clean), theta, atol=1e-7)
    noisy = glm.fit(X, clean + 0.05 * rng.normal(size=40))
    assert np.linalg.norm(noisy - theta) < 0.15


def test_fit_is_optimal_within_the_ball():
    rng = np.random.default_rng(4)
    X, theta = rng.normal(size=(30, 2)), np.array([3.0, 4.0])
    glm = GeneralisedLinear(2, norm_bound=1.0)
    fit = glm.fit(X, GeneralisedLinear(2, norm_bound=9.0).values(theta, X))
    angles = np.linspace(0, 2 * math.pi, 20001)
    circle = FiniteLinear(np.column_stack([np.cos(angles), np.sin(angles)]), link="logistic")
    best = circle.parameters[int(circle.fit(X, glm.values(theta, X))[0])]
    assert np.linalg.norm(fit) <= 1.0
    assert np.linalg.norm(fit) > 1 - 1e-6
    np.testing.assert_allclose(fit, best, atol=1e-3)


@pytest.mark.parametrize("link", ["logistic", "probit", "identity"])
def test_jacobian_matches_finite_differences(link):
    rng = np.random.default_rng(5)
    glm, p, X, h = GeneralisedLinear(3, link=link), rng.normal(size=3), rng.normal(size=(4, 3)), 1e-6
    numeric = [(glm.values(p + h * e, X) - glm.values(p - h * e, X)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(glm.jacobian(p, X), np.transpose(numeric), atol=1e-8)


@pytest.mark.parametrize("radius", [1e-3, 0.05, 1.0, 100.0])
@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_disagreement_of_a_generalised_linear_class_against_a_dense_grid(link, radius, count):
    """The result is attained, so a grid with slack bounds it from above; it is no worse than the grid."""
    rng = np.random.default_rng([count, 7])
    glm = GeneralisedLinear(2, link=link, norm_bound=2.0)
    X, x = 2 * rng.normal(size=(count, 2)), rng.normal(size=(3, 2))
    fit = glm.fit(X, np.clip(rng.normal(size=count), -1, 1))
    disagreements = glm.disagreement(X, fit, radius, x)
    side = np.linspace(-2, 2, 1201)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    off = (glm._link.value(points @ X.T) - glm.values(fit, X)) ** 2
    distance, norms = off.sum(axis=1), np.linalg.norm(points, axis=1)
    cell = (side[1] - side[0]) / math.sqrt(2)  # largest distance of a point of the set from the grid
    steepest = glm._link.max_slope * np.linalg.norm(X)
    near = (np.sqrt(distance) <= math.sqrt(radius) + steepest * cell) & (norms <= 2 + cell)
    inside = (distance <= radius) & (norms <= 2)
    for row, delta in zip(x, disagreements, strict=True):
        values = glm._link.value(points @ row)
        slack = 2 * glm._link.max_slope * np.linalg.norm(row) * cell
        assert math.sqrt(delta) <= np.ptp(values[near]) + slack + 1e-12
        if inside.any():
            assert delta >= np.ptp(values[inside]) ** 2 - 1e-6


def test_extreme_parameters_are_in_the_confidence_set():
    rng = np.random.default_rng(8)
    X, x = rng.normal(size=(5, 3)), rng.normal(size=(1, 3))
    glm = GeneralisedLinear(3, norm_bound=2.0)
    fit = glm.fit(X, np.clip(rng.normal(size=5), -1, 1))
    for radius in (1e-6, 1e-2, 1.0):
        extremes = Extremes(glm, X, fit, radius)
        for sign in (1.0, -1.0):
            end = extremes._extreme(x, fit, sign)
            assert ((glm.values(end, X) - glm.values(fit, X)) ** 2).sum() <= radius
            assert np.linalg.norm(end) <= 2.0


@pytest.mark.parametrize("radius", [1e-4, 0.1, 10.0])
def test_identity_link_gives_the_linear_optima(radius):
    rng = np.random.default_rng(9)
    X, y, x = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(4, 3))
    ball, glm = LinearBall(3), GeneralisedLinear(3, link="identity")
    fit = ball.fit(X, y)
    np.testing.assert_allclose(glm.fit(X, y), fit, atol=1e-6)
    exact, local = (c.disagreement(X, fit, radius, x) for c in (ball, glm))
    np.testing.assert_allclose(local, exact, rtol=1e-6)
    assert (local <= exact * (1 + 1e-9)).all()
    assert ball.exact
    assert not glm.exact


def wave(**options):
    return Parametric(
        lambda p, X: np.sin(p[0] * X[:, 0] + p[1]),
        lambda p, X: np.cos(p[0] * X[:, 0] + p[1])[:, None] * np.column_stack([X[:, 0], np.ones(len(X))]),
        dim=1,
        bounds=[(0.0, 4.0), (-1.0, 1.0)],
        **options,
    )


def test_parametric_class_matches_a_dense_grid():
    rng = np.random.default_rng(10)
    X = rng.uniform(-2, 2, (12, 1))
    y = np.sin(2.5 * X[:, 0] + 0.3)
    fit = wave().fit(X, y)
    np.testing.assert_allclose(fit, [2.5, 0.3], atol=1e-6)
    grid = np.stack(np.meshgrid(np.linspace(0, 4, 801), np.linspace(-1, 1, 401)), axis=-1).reshape(-1, 2)

    def at(x):
        return np.sin(grid[:, 0] * x + grid[:, 1])

    distance = sum((at(x) - np.sin(2.5 * x + 0.3)) ** 2 for x in X[:, 0])
    for x in (-1.7, 0.0, 0.4, 2.0):
        disagreement = wave().disagreement(X, fit, 0.05, np.array([[x]]))[0]
        best = np.ptp(at(x)[distance <= 0.05]) ** 2
        assert best - 1e-6 <= disagreement <= best + 0.02


def test_seed_determines_the_starts():
    one, other = (np.array(wave(seed=seed).starting_points()) for seed in (1, 2))
    np.testing.assert_array_equal(one, np.array(wave(seed=1).starting_points()))
    assert one[0].tolist() == other[0].tolist() == [2.0, 0.0]
    assert (one[1:] != other[1:]).all()


# Descriptions


@pytest.mark.parametrize(
    "hypotheses",
    [
        LinearBall(3, 2.0),
        GeneralisedLinear(3, link="probit", norm_bound=2.0, starts=1, seed=4),
        FiniteLinear(np.eye(3), link="logistic"),
        FiniteTable(np.eye(3), [[0.0, 0.5, 1.0]]),
    ],
    ids=lambda h: type(h).__name__,
)
def test_described_rebuilds_classes(hypotheses):
    plain = {k: np.asarray(v).tolist() for k, v in dataclasses.asdict(hypotheses).items()}
    again = described(json.loads(json.dumps(plain)))
    assert type(again) is type(hypotheses)
    X = np.eye(3)
    np.testing.assert_array_equal(
        again.disagreement(X[:1], np.zeros(3), 0.1, X), hypotheses.disagreement(X[:1], np.zeros(3), 0.1, X)
    )


def test_unknown_class_raises():
    assert refusal(lambda: described({"kind": "Magic", "dim": 2})) == (
        "kind of a hypothesis class must be a registered class, got 'Magic'. "
        "Import the module that defines it first."
    )


def test_class_without_fit_is_abstract():
    with pytest.raises(TypeError):
        HypothesisClass()


# Invalid input


@pytest.mark.parametrize(
    ("build", "start"),
    [
        (
            lambda: Finite([], dim=1),
            "functions of Finite must be a sequence of at least one function, got [].",
        ),
        (lambda: Finite([3], dim=1), "functions of Finite must be a sequence"),
        (lambda: Finite(len, dim=1), "functions of Finite must be a sequence"),
        (lambda: Finite([len], dim=0), "dim of Finite must be an integer of at least 1, got 0."),
        (lambda: FiniteLinear([]), "parameters of FiniteLinear must be a finite matrix"),
        (lambda: FiniteLinear([[NAN]]), "parameters of FiniteLinear must be a finite matrix"),
        (lambda: FiniteLinear([["a"]]), "parameters of FiniteLinear must be a finite matrix"),
        (lambda: FiniteLinear([[1.0]], link="log"), "link of FiniteLinear must be one of 'identity', "),
        (lambda: FiniteTable([[0.0]], []), "values_at of FiniteTable must be a finite matrix"),
        (lambda: FiniteTable([[0.0]], [[0.0, 1.0]]), "values_at of FiniteTable must be one column per input"),
        (lambda: FiniteTable([[0.0]], [[-3.0]]), "values_at of FiniteTable must be in [−1, 1], got -3.0."),
        (lambda: FiniteTable([[0.0], [-0.0]], [[0.0, 1.0]]), "inputs of FiniteTable must be all different"),
        (lambda: LinearBall(0), "dim of LinearBall must be an integer of at least 1, got 0."),
        (lambda: LinearBall(2, 0.0), "norm_bound of LinearBall must be a finite number above 0, got 0.0."),
        (lambda: LinearBall(2, INF), "norm_bound of LinearBall must be a finite number above 0, got inf."),
        (lambda: LinearBall(2, 1.0, -1.0), "input_bound of LinearBall must be a finite number above 0"),
        (lambda: GeneralisedLinear(2.0), "dim of GeneralisedLinear must be an integer"),
        (
            lambda: GeneralisedLinear(2, link="cloglog"),
            "link of GeneralisedLinear must be one of 'identity', 'logistic', 'probit', got 'cloglog'.",
        ),
        (lambda: GeneralisedLinear(2, link=None), "link of GeneralisedLinear must be one of"),
        (lambda: GeneralisedLinear(2, norm_bound=NAN), "norm_bound of GeneralisedLinear must be a finite"),
        (
            lambda: GeneralisedLinear(2, starts=0),
            "starts of GeneralisedLinear must be an integer of at least",
        ),
        (lambda: GeneralisedLinear(2, seed=-1), "seed of GeneralisedLinear must be an integer of at least 0"),
        (lambda: Parametric(1, len, dim=1, bounds=[(0, 1)]), "function of Parametric must be a function of"),
        (lambda: Parametric(len, None, dim=1, bounds=[(0, 1)]), "gradient of Parametric must be a function"),
        (lambda: Parametric(len, len, dim=1, bounds=[]), "bounds of Parametric must be one pair of finite"),
        (lambda: Parametric(len, len, dim=1, bounds=[(0, INF)]), "bounds of Parametric must be one pair"),
        (lambda: Parametric(len, len, dim=1, bounds=[(1, 1)]), "bounds of Parametric must be such that low"),
        (
            lambda: Parametric(len, len, dim=1, bounds=[(0, 1)], lipschitz=0),
            "lipschitz of Parametric must be",
        ),
        (lambda: wave().log_covering(0.1), "lipschitz of Parametric must be given for a covering number"),
    ],
)
def test_invalid_parameters_raise(build, start):
    assert refusal(build).startswith(start)


def test_functions_outside_their_domain_raise():
    def log(p, X):
        with np.errstate(all="ignore"):
            return np.log(X @ p)

    logs = Parametric(log, lambda p, X: X / (X @ p)[:, None], dim=1, bounds=[(0.1, 1.0)])
    assert refusal(lambda: logs.predict(np.ones(1), np.array([[0.5], [-1.0]]))) == (
        "function of Parametric must be finite on every input, got nan at row 1. "
        "The input is outside its domain."
    )
    assert refusal(lambda: Finite([lambda X: X], dim=2).predict(np.zeros(1), np.eye(2))) == (
        "every function of Finite must be such that it returns shape (2,), got shape (2, 2)."
    )
