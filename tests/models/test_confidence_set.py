"""Tests of `ConfidenceSet`: Algorithms 3 and 4, `Ridge` as a limit, late labels, contracts and files."""

import math
import re

import numpy as np
import pytest
from tests.raw_states import label, query, retract
from tests.refusals import refusal

from qufur import FixedBudget, Learner, QuFUR, Ridge, Threshold, Uniform, checks, run, streams
from qufur.hypotheses import Finite, FiniteLinear, FiniteTable, GeneralisedLinear, LinearBall, Parametric
from qufur.models.confidence_set import ConfidenceSet
from qufur.snapshot import encode

NAN, INF = float("nan"), float("inf")


def grid(dim, count=60, seed=0):
    return FiniteLinear(np.random.default_rng(seed).uniform(-1, 1, (count, dim)))


def learned(model, X, y):
    state = model.start()
    state.learn(np.array(X, dtype=float), np.array(y, dtype=float))
    return state


# β


def test_beta_by_hand():
    """β_k = 8 · 0.25 · ln(4 · 10 / 0.1) + (2k / 100²)(16 + √(2 · 0.25 · ln(16k² / 0.1)))."""
    model = ConfidenceSet(FiniteLinear(np.ones((10, 1))), horizon=100, noise=0.5, failure_probability=0.1)
    assert model.beta(0) == pytest.approx(11.982929094215963, rel=1e-12)  # 2 ln 400
    # k = 7: √(0.5 ln 7840) = 2.117426990
    assert model.beta(7) == pytest.approx(11.982929094 + 0.0014 * (16 + 2.117426990), rel=1e-9)


def test_beta_of_a_ball():
    model = ConfidenceSet(LinearBall(3, 2.0), horizon=10)
    assert model.beta(0) == pytest.approx(8 * (3 * math.log(1 + 4 * 100) + math.log(4 / 0.05)))


def test_beta_never_falls_and_a_radius_is_a_constant():
    model = ConfidenceSet(grid(2), horizon=30)
    assert (np.diff([model.beta(k) for k in range(30)]) > 0).all()
    assert {ConfidenceSet(grid(2), horizon=30, radius=0.5).beta(k) for k in (0, 1, 9)} == {0.5}


def test_beta_without_noise_is_finite_at_the_start():
    """β₀ = 0, but without data the confidence set is the whole class."""
    for hypotheses in (LinearBall(2), GeneralisedLinear(2), grid(2)):
        model = ConfidenceSet(hypotheses, horizon=10, noise=0.0)
        assert model.beta(0) == 0.0
        assert (model.start().uncertainty(np.eye(2)) > 0.5).all()
        assert np.isfinite(learned(model, np.eye(2), [0.1, 0.2]).uncertainty(np.eye(2))).all()


# Algorithm 3


def algorithm_3(values, X, y, alpha, beta, seed):
    """Run Algorithm 3 line by line, over functions given by their values at the inputs of the stream."""
    rng, queried, records = np.random.default_rng(seed), [], []
    for t in range(len(X)):
        losses = [sum((f[i] - y[i]) ** 2 for i in queried) for f in values]
        best = values[losses.index(min(losses))]
        members = [f for f in values if sum((f[i] - best[i]) ** 2 for i in queried) <= beta(len(queried))]
        delta = max((f[t] - g[t]) ** 2 for f in members for g in members)
        query = rng.random() < min(1.0, alpha * delta)
        records.append((best[t], delta, query))
        queried += [t] if query else []
    return [np.array(column) for column in zip(*records, strict=True)]


@pytest.mark.parametrize("seed", range(4))
def test_algorithm_3_is_transcribed(seed):
    rng = np.random.default_rng(seed)
    X, thetas = rng.uniform(-1, 1, (50, 2)) / 2, rng.uniform(-1, 1, (25, 2))
    y = X @ thetas[3] + 0.1 * rng.normal(size=50)
    for options in ({"radius": 0.2}, {"horizon": 50, "noise": 0.1}):
        model = ConfidenceSet(FiniteLinear(thetas), **options)
        trace = run(Learner(model, QuFUR(2.0), seed=seed), streams.Arrays(X, y))
        prediction, delta, query = algorithm_3((thetas @ X.T).tolist(), X, y, 2.0, model.beta, seed)
        np.testing.assert_array_equal(trace.query, query)
        np.testing.assert_allclose(trace.prediction, prediction, atol=1e-12)
        np.testing.assert_allclose(trace.uncertainty, delta, atol=1e-12)


def test_confidence_set_with_wide_ball_and_beta_one_quarter_equals_ridge():
    """Δ = 4β‖x‖² in (Σ x xᵀ)⁻¹, which is the uncapped Δ of `Ridge` as λ → 0."""
    rng = np.random.default_rng(1)
    X, y, new = rng.normal(size=(30, 3)), rng.uniform(-1, 1, 30), rng.normal(size=(9, 3)) / 3
    wide = learned(ConfidenceSet(LinearBall(3, 1e4), radius=0.25, cap=False), X, y)
    ridge = learned(Ridge(3, regularization=1e-9, cap=False), X, y)
    np.testing.assert_allclose(wide.uncertainty(new), ridge.uncertainty(new), rtol=1e-7)
    np.testing.assert_allclose(wide.predict(new), ridge.predict(new), rtol=1e-7)


def test_confidence_set_on_a_linear_class_behaves_like_algorithm_1():
    stream = streams.HiddenDomains([60, 60], [2, 2], seed=3)
    for model in (ConfidenceSet(LinearBall(4), radius=0.1), Ridge(4)):
        trace = run(Learner(model, QuFUR(1.0), seed=4), stream)
        inside = trace.query.reshape(4, 30).sum(axis=1)  # first and second half of each domain
        assert inside[0] > 1.5 * inside[1]
        assert inside[2] > 1.5 * inside[3]
        assert trace.queries < 60
        assert trace.total_regret < 8


def test_fine_grid_of_functions_equals_the_ball_in_one_dimension():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (60, 1))
    stream = streams.Arrays(X, 0.7 * X[:, 0] + 0.1 * rng.normal(size=60))
    fine = FiniteLinear(np.linspace(-1, 1, 4001)[:, None])
    finite, ball = (
        run(Learner(ConfidenceSet(h, radius=0.05), QuFUR(1.0), seed=6), stream) for h in (fine, LinearBall(1))
    )
    np.testing.assert_array_equal(finite.query, ball.query)
    first = int(finite.query.argmax()) + 1  # before the first label every function fits
    np.testing.assert_allclose(finite.prediction[first:], ball.prediction[first:], atol=5e-4)
    np.testing.assert_allclose(finite.uncertainty, ball.uncertainty, atol=5e-3)


@pytest.mark.parametrize(
    "hypotheses",
    [grid(3), LinearBall(3), GeneralisedLinear(3, norm_bound=2.0, starts=1)],
    ids=lambda h: type(h).__name__,
)
def test_fixed_budget_holds_against_an_adaptive_adversary(hypotheses):
    """Algorithm 4 on inputs chosen to maximise the uncertainty."""
    stream = streams.MostUncertain(3, 40, pool=4, seed=7)
    for budget in (17, 34):
        learner = Learner(ConfidenceSet(hypotheses, radius=0.3), FixedBudget(budget, 40), seed=8)
        trace = run(learner, stream)
        assert 0 < trace.queries <= budget
        assert np.isfinite(trace.uncertainty).all()
        assert trace.uncertainty.min() >= 0
        assert trace.uncertainty.max() <= 4


def test_confidence_set_contains_the_truth_and_bounds_regret_by_the_sum_of_uncertainties():
    """With the paper's β this holds with probability 1 − δ/2. Here δ = 0.01, so by the bound 20 seeds fail
    with probability at most 0.1; in practice they never fail, since β is far from tight."""
    rng = np.random.default_rng(9)
    for seed in range(20):
        X = rng.uniform(-1, 1, (40, 2)) / 2
        thetas = rng.uniform(-1, 1, (30, 2))
        truth = X @ thetas[0]
        stream = streams.Arrays(X, truth + 0.05 * rng.normal(size=40), truth=truth)
        model = ConfidenceSet(FiniteLinear(thetas), horizon=40, noise=0.05, failure_probability=0.01)
        trace = run(Learner(model, QuFUR(1.0), seed=seed), stream)
        assert trace.total_regret <= trace.uncertainty.sum()
        assert (trace.regret <= trace.uncertainty + 1e-12).all()


# Options


def test_label_range_clip_and_cap():
    X, y = np.array([[1.0]]), [9.0]
    assert learned(ConfidenceSet(LinearBall(1, 5.0), radius=1.0), X, y).predict(X).tolist() == [1.0]
    loose = ConfidenceSet(LinearBall(1, 5.0), radius=1.0, clip=False)
    assert learned(loose, X, y).predict(X) == pytest.approx([5.0])
    stars = ConfidenceSet(LinearBall(1), radius=0.01, label_range=(1, 5))
    assert stars.start().predict(X).tolist() == [3.0]
    state = learned(stars, X, [4.0])
    assert state.predict(X) == pytest.approx([4.0])
    assert state.uncertainty(X) == pytest.approx([0.04])  # in units of labels in [−1, 1]
    ten = np.array([[10.0]])
    assert ConfidenceSet(LinearBall(1), radius=1.0).start().uncertainty(ten).tolist() == [4.0]
    assert ConfidenceSet(LinearBall(1), radius=1.0, cap=False).start().uncertainty(ten) == pytest.approx(
        [400]
    )


def test_probabilities_are_learned_as_such():
    model = ConfidenceSet(GeneralisedLinear(1, norm_bound=5.0), radius=0.1, label_range=(0, 1))
    X = np.array([[-1.0], [0.5], [2.0]])
    state = learned(model, X, 1 / (1 + np.exp(-1.5 * X[:, 0])))
    assert state.predict(np.array([[0.0], [1.0]])) == pytest.approx([0.5, 1 / (1 + math.exp(-1.5))])


# Late labels


HYPOTHESES = [
    grid(4),
    LinearBall(4),
    GeneralisedLinear(4, norm_bound=2.0, starts=1),
]


@pytest.mark.parametrize("hypotheses", HYPOTHESES, ids=lambda h: type(h).__name__)
def test_pending_label_counts_as_if_it_equalled_the_prediction(hypotheses):
    rng = np.random.default_rng(10)
    X, y, new = rng.normal(size=(6, 4)) / 2, rng.uniform(-1, 1, 6), rng.normal(size=(5, 4))
    model = ConfidenceSet(hypotheses, radius=0.2)
    pending, labelled = (learned(model, X[:4], y[:4]) for _ in range(2))
    before = pending.uncertainty(new)
    query(pending, ["a", "b"], X[4:])
    labelled.learn(X[4:], labelled.predict(X[4:]))
    np.testing.assert_array_equal(pending.predict(new), learned(model, X[:4], y[:4]).predict(new))
    np.testing.assert_allclose(pending.uncertainty(new), labelled.uncertainty(new), rtol=1e-4, atol=1e-9)
    assert (pending.uncertainty(new) <= before * (1 + 1e-6) + 1e-12).all()  # with a constant β
    retract(pending, "b")
    retract(pending, "a")
    np.testing.assert_array_equal(pending.uncertainty(new), before)


@pytest.mark.parametrize("hypotheses", HYPOTHESES, ids=lambda h: type(h).__name__)
def test_order_of_labels_changes_no_bit(hypotheses):
    rng = np.random.default_rng(11)
    X, y, new = rng.normal(size=(7, 4)) / 2, rng.uniform(-1, 1, 7), rng.normal(size=(5, 4))
    model = ConfidenceSet(hypotheses, horizon=20, noise=0.1)
    together, late = learned(model, X, y), model.start()
    query(late, range(7), X)
    for id in rng.permutation(7).tolist():
        label(late, [id], y[[id]])
    for state in (together, late):
        state.uncertainty(new)
    np.testing.assert_array_equal(late.predict(new), together.predict(new))
    np.testing.assert_array_equal(late.uncertainty(new), together.uncertainty(new))


def test_label_can_raise_the_uncertainty():
    """This is why the model is neither monotone nor label-free."""
    a, b = np.array([[0.0]]), np.array([[1.0]])
    table = FiniteTable([a[0], b[0]], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    state = ConfidenceSet(table, radius=0.5).start()
    assert state.uncertainty(b).tolist() == [1.0]
    query(state, ["a"], a)
    assert state.uncertainty(b).tolist() == [0.0]  # the pending label counts as 0, its prediction
    label(state, ["a"], np.array([1.0]))
    assert state.uncertainty(b).tolist() == [1.0]
    assert not ConfidenceSet.tags.label_free
    assert not ConfidenceSet.tags.monotone


def test_rows_are_copied():
    X = np.eye(2)
    state = learned(ConfidenceSet(LinearBall(2), radius=0.1), X, [0.5, 0.5])
    query(state, ["a"], X[:1])
    expected = learned(state.model, X, [0.5, 0.5])
    query(expected, ["a"], X[:1].copy())
    view = np.eye(2)
    from_view = state.model.start()
    from_view.learn(view, np.array([0.5, 0.5]))
    query(from_view, ["a"], view[:1])
    view[:] = 9.0
    np.testing.assert_array_equal(from_view.uncertainty(X), expected.uncertainty(X))
    np.testing.assert_array_equal(from_view.predict(X), expected.predict(X))


# Contracts


@pytest.mark.parametrize("rule", [QuFUR(0.3, budget=9), Uniform(0.3, budget=9)], ids=repr)
@pytest.mark.parametrize(
    "check",
    [
        checks.check_budget,
        checks.check_retract,
        checks.check_seed,
        checks.check_numbers,
        checks.check_bad_input,
    ],
    ids=lambda check: check.__name__,
)
def test_classes_with_local_optima_pass_the_contract_checks(check, rule):
    """Only checks that take seconds; the state class is the same for all hypothesis classes."""
    check(ConfidenceSet(GeneralisedLinear(4, norm_bound=2.0, starts=1), radius=0.3), rule)


@pytest.mark.parametrize("radius", [1e-30, 1.0, 1e30])
def test_huge_and_tiny_inputs_give_finite_results(radius):
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    for hypotheses in (LinearBall(2), grid(2)):
        for scale in (1e-100, 1e-6, 1e6, 1e100):
            state = learned(ConfidenceSet(hypotheses, radius=radius), scale * X[:2], [0.3, 0.4])
            for values in (state.predict(scale * X), state.uncertainty(scale * X)):
                assert np.isfinite(values).all()
    far = learned(ConfidenceSet(LinearBall(2), radius=0.1), X, [0.3, 0.4, 0.5])
    assert far.uncertainty(np.array([[1.5e308, 1.5e308]])).tolist() == [4.0]
    assert np.isfinite(far.predict(np.array([[1.5e308, 1.5e308]]))).all()


# Files


@pytest.mark.parametrize(
    "hypotheses",
    [
        LinearBall(2, 2.0),
        GeneralisedLinear(2, link="probit", starts=1),
        FiniteLinear([[0.1, 0.2], [0.3, -0.4]], link="logistic"),
        FiniteTable(np.eye(2), [[0.0, 0.5], [0.5, 1.0]]),
    ],
    ids=lambda h: type(h).__name__,
)
def test_saved_learner_loads_identically(tmp_path, hypotheses):
    X = np.eye(2)
    learner = Learner(ConfidenceSet(hypotheses, radius=0.2), Threshold(1e-9), seed=1)
    learner.learn(X, [0.3, 0.4])
    learner.ask(X[0], id="late")
    learner.save(tmp_path / "learner")
    loaded = Learner.load(tmp_path / "learner")
    assert type(loaded.model.hypotheses) is type(hypotheses)
    assert loaded.outstanding == learner.outstanding
    np.testing.assert_array_equal(loaded.uncertainty(X), learner.uncertainty(X))
    np.testing.assert_array_equal(loaded.predict(X), learner.predict(X))
    for each in (loaded, learner):
        each.learn(X, [0.1, 0.2])
    np.testing.assert_array_equal(loaded.predict(X), learner.predict(X))


def test_python_functions_cannot_be_saved(tmp_path):
    line = Parametric(lambda p, X: X @ p, lambda p, X: X, dim=1, bounds=[(-1, 1)])
    for hypotheses in (Finite([lambda X: X[:, 0]], dim=1), line):
        learner = Learner(ConfidenceSet(hypotheses, radius=0.2), QuFUR(1.0))
        learner.learn([[0.5]], [0.3])
        assert refusal(lambda learner=learner: learner.save(tmp_path / "learner")) == (
            "hypotheses of ConfidenceSet must be a class without Python functions for a learner to be saved, "
            f"got {type(hypotheses).__name__}."
        )


# Invalid input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hypotheses": []}, "hypotheses of ConfidenceSet must be a HypothesisClass, got list."),
        ({"hypotheses": None}, "hypotheses of ConfidenceSet must be a HypothesisClass, got NoneType."),
        *[
            ({"radius": r}, f"radius of ConfidenceSet must be a finite number above 0, got {r!r}.")
            for r in (0, -1.0, NAN, INF, "1", True)
        ],
        *[
            (
                {"failure_probability": d},
                f"failure_probability of ConfidenceSet must be in (0, 1), got {d!r}.",
            )
            for d in (0, -0.1, 1, 1.0, 2, NAN, "0.1", None, True)
        ],
        *[
            ({"horizon": T}, f"horizon of ConfidenceSet must be an integer of at least 1, got {T!r}.")
            for T in (0, -1, 2.0, True, "9")
        ],
        *[
            ({"noise": n}, f"noise of ConfidenceSet must be a finite number of at least 0, got {n!r}.")
            for n in (-1, NAN, None)
        ],
        ({"cap": 1}, "cap of ConfidenceSet must be True or False, got 1."),
        ({"clip": None}, "clip of ConfidenceSet must be True or False, got None."),
        *[
            (
                {"label_range": r},
                "label_range of ConfidenceSet must be two finite numbers (low, high) with low < high, "
                f"got {r!r}.",
            )
            for r in ((1, 1), (2, 1), None, (0, INF), (1, 2, 3))
        ],
        (
            {"radius": None},
            "horizon of ConfidenceSet must be given if radius is not, got None. "
            "The paper's β depends on T; radius=... sets it to a constant instead.",
        ),
    ],
)
def test_invalid_parameters_raise(options, message):
    assert (
        refusal(lambda: ConfidenceSet(**{"hypotheses": LinearBall(2), "radius": 1.0, **options})) == message
    )


def test_beta_of_the_paper_needs_a_covering_number():
    line = Parametric(lambda p, X: X @ p, lambda p, X: X, dim=1, bounds=[(-1, 1)])
    assert refusal(lambda: ConfidenceSet(line, horizon=10)) == (
        "lipschitz of Parametric must be given for a covering number, got None. "
        "Or give ConfidenceSet a radius."
    )


def test_inputs_outside_the_domain_change_nothing():
    learner = Learner(ConfidenceSet(FiniteTable(np.eye(2), [[0.0, 0.5]]), radius=1.0), QuFUR(1.0))
    learner.ask([1.0, 0.0])
    before = encode(learner)
    for call in (learner.ask, learner.predict, learner.uncertainty, lambda x: learner.learn([x], [0.0])):
        assert re.match(
            "X of FiniteTable must be among its inputs", refusal(lambda call=call: call([1.0, 1]))
        )
        after = encode(learner)
        assert after[0] == before[0]
        assert all(np.array_equal(after[1][name], before[1][name]) for name in before[1])
