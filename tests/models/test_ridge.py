"""Tests of `Ridge`: formulas by hand, options, accuracy against exact rational arithmetic, and memory."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qufur import FixedBudget, Learner, QuFUR, Ridge, Uniform, run
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.streams import Arrays


def learned(model, X, y):
    state = model.start()
    state.learn(np.array(X, dtype=float), np.array(y, dtype=float))
    return state


# Formulas


def test_ridge_with_one_row_matches_hand_computation():
    state = learned(Ridge(2, regularization=2.0), [[1, 2]], [0.7])
    # M = [[3, 2], [2, 6]], M⁻¹ = [[6, −2], [−2, 3]]/14, θ̂ = M⁻¹ (0.7, 1.4) = (0.1, 0.2)
    np.testing.assert_allclose(state.predict(np.array([[1.0, 0], [0, 1], [1, 1]])), [0.1, 0.2, 0.3])
    np.testing.assert_allclose(
        state.uncertainty(np.array([[1.0, 0], [0, 1], [1, 1]])), [6 / 14, 3 / 14, 5 / 14]
    )


def test_ridge_before_any_label_predicts_the_middle():
    state = Ridge(3, norm_bound=2.0, cap=False).start()
    np.testing.assert_allclose(state.uncertainty(np.array([[1.0, 2, 2]])), [36])  # C²‖x‖²
    assert state.predict(np.ones((1, 3))).tolist() == [0]


def test_norm_bound_is_the_inverse_square_root_of_the_regularization():
    assert Ridge(2, norm_bound=4.0).penalty == 1 / 16
    assert Ridge(2, norm_bound=4.0, regularization=0.5).penalty == 0.5


@pytest.mark.parametrize(("noise", "level"), [(0, 1), (0.5, 1), (1, 1), (3, 9)])
def test_noise_scales_the_uncertainty_from_1_on(noise, level):
    x = np.array([[0.5, 0], [7, 0]])
    np.testing.assert_allclose(Ridge(2, noise=noise).start().uncertainty(x), level * np.array([0.25, 1]))
    uncapped = Ridge(2, noise=noise, cap=False).start()
    np.testing.assert_allclose(uncapped.uncertainty(x), level * np.array([0.25, 49]))


def test_predictions_are_clipped():
    X, y = [[1.0], [1.0]], [9.0, 9.0]
    assert learned(Ridge(1), X, y).predict(np.array([[1.0], [-1], [0.1]])).tolist() == [
        1,
        -1,
        pytest.approx(0.6),
    ]
    assert learned(Ridge(1, clip=False), X, y).predict(np.array([[1.0]])) == pytest.approx(6)


def test_label_range_maps_labels():
    model = Ridge(1, label_range=(1, 5))
    state = learned(model, [[1.0]], [5.0])  # 5 is mapped to +1, and θ̂ = 1/2
    np.testing.assert_allclose(state.predict(np.array([[0.0], [1], [2], [-9]])), [3, 4, 5, 1])
    beyond = learned(model, [[1.0]], [8.0])  # mapped to +2.5: accepted, θ̂ = 1.25
    np.testing.assert_allclose(beyond.predict(np.array([[0.5], [1.0]])), [3 + 2 * 0.625, 5])
    np.testing.assert_allclose(beyond.uncertainty(np.eye(1)), state.uncertainty(np.eye(1)))


def test_intercept_is_a_constant_feature():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    with_ones = np.column_stack([X, np.ones(20)])
    with_intercept = learned(Ridge(3, intercept=True, intercept_penalty=1.0), X, y)
    with_column = learned(Ridge(4), with_ones, y)
    np.testing.assert_array_equal(with_intercept.predict(X), with_column.predict(with_ones))
    np.testing.assert_array_equal(with_intercept.uncertainty(X), with_column.uncertainty(with_ones))
    assert with_intercept.uncertainty(np.zeros((1, 3))) > 0


def test_loss_is_squared_and_in_the_users_units():
    model = Ridge(1, label_range=(1, 5))
    assert model.loss(np.array([3.0, 5.0]), np.array([1.0, 4.5])).tolist() == [4, 0.25]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), dim=st.integers(1, 6), n=st.integers(0, 12), penalty=st.floats(0.01, 10))
def test_ridge_equals_the_batch_solution(seed, dim, n, penalty):
    rng = np.random.default_rng(seed)
    X, y, new = rng.normal(size=(n, dim)), rng.normal(size=n), rng.normal(size=(5, dim))
    state = learned(Ridge(dim, regularization=penalty, cap=False, clip=False), X, y)
    M = penalty * np.eye(dim) + X.T @ X
    np.testing.assert_allclose(state.predict(new), new @ np.linalg.solve(M, X.T @ y), atol=1e-10)
    q = np.einsum("ij,ij->i", new, np.linalg.solve(M, new.T).T)
    np.testing.assert_allclose(state.uncertainty(new), q, rtol=1e-10)


# Accuracy


def exact(X, y, penalty, probes):
    """Return xᵀM⁻¹x and ⟨θ̂, x⟩ of the probes, and θ̂, computed exactly from the given floats."""
    A, b = as_integers(X), as_integers(y)
    M, moment = A.T @ A, A.T @ b
    dim = len(M)
    rows = [
        [Fraction(int(M[i, j]), UNIT**2) + Fraction(penalty) * (i == j) for j in range(dim)]
        + [Fraction(p) for p in probes[:, i].tolist()]
        + [Fraction(int(moment[i]), UNIT**2)]
        for i in range(dim)
    ]
    *solved, theta = zip(*solve_exactly(rows, dim), strict=True)
    q = [
        float(sum(Fraction(a) * s for a, s in zip(p, s, strict=True)))
        for p, s in zip(probes, solved, strict=True)
    ]
    scores = [float(sum(Fraction(a) * t for a, t in zip(p, theta, strict=True))) for p in probes]
    return np.array(q), np.array(scores), np.array([float(t) for t in theta])


UNIT = 2**120


def as_integers(array):
    """Return floats as integers in units of 2⁻¹²⁰: exact above 1e-20, and so are sums of products."""
    mantissa, exponent = np.frexp(array)
    mantissa = (mantissa * 2.0**53).astype(np.int64)
    shift = exponent + 120 - 53
    numbers = [
        int(m) << int(e) for m, e in zip(mantissa.flat, np.where(array == 0, 0, shift).flat, strict=True)
    ]
    return np.array(numbers, dtype=object).reshape(array.shape)


def solve_exactly(rows, dim):
    """Return the solutions of M s = r for each column r right of M, by Gaussian elimination."""
    for i in range(dim):
        for k in range(dim):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [[value / row[i] for value in row[dim:]] for i, row in enumerate(rows)]


def badly_scaled_rows(n, lowest, highest, seed, dim=6):
    """Return duplicates and collinear rows over many decades; large rows lie in a thin subspace only."""
    rng = np.random.default_rng(seed)
    lines = rng.normal(size=(max(1, dim // 3), dim))
    X, norm = rng.normal(size=(n, dim)), rng.uniform(lowest, min(highest, 0), (n, 1))
    collinear = rng.random(n) < 0.7
    X[collinear] = lines[rng.integers(0, len(lines), collinear.sum())]
    norm[collinear] = rng.uniform(lowest, highest, (collinear.sum(), 1))
    X *= 10.0**norm / np.linalg.norm(X, axis=1, keepdims=True)
    X[1::5] = X[: len(X[1::5]) * 5 : 5]
    return X


@pytest.mark.parametrize(
    ("lowest", "highest", "form"),
    [(0, 0, InverseGram), (-6, 6, FactorGram), (-6, 0, InverseGram), (0, 6, FactorGram)],
)
@pytest.mark.parametrize("batch", [1, 50])
def test_ridge_stays_accurate_over_twenty_thousand_updates(lowest, highest, form, batch):
    X = badly_scaled_rows(20_000, lowest, highest, seed=3)
    rng = np.random.default_rng(4)
    y = np.clip(X @ rng.normal(size=6), -1, 1) + 0.1 * rng.normal(size=len(X))
    gram = Gram(6, 1.0)
    for i in range(0, len(X), batch):
        gram.absorb(gram.update(X[i : i + batch]), y[i : i + batch])
    assert isinstance(gram.form, form)
    probes = np.vstack([np.eye(6), X[::2000], 1e-6 * X[:4], 1e6 * np.ones((1, 6))])
    q, scores, theta = exact(X, y, 1.0, probes)
    np.testing.assert_allclose(gram.variance(probes), q, rtol=1e-6)
    np.testing.assert_allclose(gram.coef, theta, rtol=1e-6)
    scale = np.linalg.norm(probes, axis=1) * np.linalg.norm(theta)
    assert (np.abs(probes @ gram.coef - scores) <= 1e-6 * scale).all()
    np.testing.assert_allclose(np.einsum("ij,ij->i", gram.solve(probes), probes), q, rtol=1e-6)


def test_inverse_form_fails_where_the_factor_is_accurate(monkeypatch):
    """Without the change of form the test above fails, so it can detect the problem."""
    X = badly_scaled_rows(3000, -6, 6, seed=3)
    gram = Gram(6, 1.0)
    for form in (LowRankGram, InverseGram):
        monkeypatch.setattr(form, "max_condition", np.inf)
    for x in X:
        gram.absorb(gram.update(x[None]), np.zeros(1))
    q, _, _ = exact(X, np.zeros(len(X)), 1.0, X[:20])
    assert np.abs(gram.variance(X[:20]) / q - 1).max() > 1e-5


def test_condition_number_counts_all_rows():
    X = np.random.default_rng(0).normal(size=(6, 20))
    gram = Gram(20, 0.5)
    for rows in (X[:1], X[1:4], X[4:]):
        gram.add(rows, np.zeros(len(rows)))
        assert isinstance(gram.form, LowRankGram)
    assert gram.form.risk(3.0) == pytest.approx(1 + (np.sum(X**2) + 3) / 0.5)


def test_form_changes_automatically_and_once():
    gram = Gram(3, 1.0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        gram.absorb(gram.update(rng.normal(size=(1, 3))), np.ones(1))
    assert isinstance(gram.form, InverseGram)
    before, coef = gram.variance(np.eye(3)), gram.coef.copy()
    gram.prepare(np.array([[1e6, 0, 0]]))
    assert isinstance(gram.form, FactorGram)
    np.testing.assert_allclose(gram.variance(np.eye(3)), before, rtol=1e-12)
    np.testing.assert_allclose(gram.coef, coef, rtol=1e-12)
    gram.absorb(gram.update(rng.normal(size=(1, 3))), np.ones(1))
    assert isinstance(gram.form, FactorGram)


def test_learner_changes_form_on_an_ill_conditioned_stream():
    X = badly_scaled_rows(3000, -6, 6, seed=3)
    theta = np.random.default_rng(4).normal(size=6)
    y = np.clip(X @ theta, -1, 1)
    for block in (1, None):
        learner = Learner(Ridge(6, cap=False, clip=False), Uniform(1.0))
        trace = run(learner, Arrays(X, y), block=block, delay=5)
        assert isinstance(learner.state.queried.form, FactorGram)
        q, scores, _ = exact(X, y, 1.0, np.eye(6))
        np.testing.assert_allclose(learner.uncertainty(np.eye(6)), q, rtol=1e-6)
        np.testing.assert_allclose(learner.predict(np.eye(6)), scores, rtol=1e-6)
        q, *_ = exact(X[:2000], y[:2000], 1.0, X[2000:2001])
        np.testing.assert_allclose(trace.uncertainty[2000], q, rtol=1e-6)


@pytest.mark.parametrize("penalty", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("delay", [0, 3, 40])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_on_an_ill_conditioned_stream_predict_accurately(seed, delay, penalty):
    X = badly_scaled_rows(120, -6, 6, seed)
    theta = np.random.default_rng(seed).normal(size=6)
    y = X @ theta  # consistent labels, so that the solution itself is well-conditioned
    model, rule = Ridge(6, regularization=penalty, cap=False, clip=False), Uniform(0.6)
    traces = [run(Learner(model, rule), Arrays(X, y), block=block, delay=delay) for block in (1, None, 120)]
    queried = traces[0].query
    for trace in traces:
        np.testing.assert_array_equal(trace.query, queried)
    for t in range(1, 120, 7):
        labelled = queried[:t] & (np.arange(t) + delay < t)
        q, _, _ = exact(X[:t][queried[:t]], y[:t][queried[:t]], penalty, X[t : t + 1])
        _, score, theta = exact(X[:t][labelled], y[:t][labelled], penalty, X[t : t + 1])
        scale = 1e-6 * np.linalg.norm(X[t]) * np.linalg.norm(theta)
        for trace in traces:
            np.testing.assert_allclose(trace.uncertainty[t], q, rtol=1e-6)
            assert abs(trace.prediction[t] - score) <= scale


def test_predictions_on_nearly_collinear_inputs_are_accurate():
    """Absolute errors are small; relative errors are not, since inconsistent labels cancel large terms."""
    relative_errors = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        T, v = int(rng.integers(2, 30)), rng.normal(size=2)
        v, spread = v / np.linalg.norm(v), 10 ** rng.uniform(-8, -1)
        X = 10 ** rng.uniform(-6, 6, size=(T, 1)) * (v + spread * rng.normal(size=(T, 2)))
        y = rng.uniform(-1, 1, size=T)
        learner = Learner(Ridge(2, cap=False, clip=False), Uniform(1.0))
        for x, label in zip(X, y, strict=True):
            learner.tell(learner.ask(x).id, label)
        probes = np.vstack([np.eye(2), X])
        q, scores, _ = exact(X, y, 1.0, probes)
        predictions = learner.predict(probes)
        np.testing.assert_allclose(learner.uncertainty(probes), q, rtol=1e-6)
        np.testing.assert_allclose(predictions, scores, rtol=0, atol=2e-6)  # labels range from -1 to 1
        relative_errors.append(np.abs(predictions / scores - 1).max())
    assert max(relative_errors) > 1e-6


@pytest.mark.parametrize("dim", [1, 3, 40])
def test_inverse_is_refreshed_and_accurate(dim):
    rng = np.random.default_rng(1)
    gram = Gram(dim, 0.3)
    X, y = rng.normal(size=(3000, dim)), rng.normal(size=3000)
    refreshed = 0
    for i in range(0, 3000, 3):
        gram.absorb(gram.update(X[i : i + 3]), y[i : i + 3])
        refreshed += getattr(gram.form, "since_refresh", -1) == 0
    assert refreshed >= 3
    M = 0.3 * np.eye(dim) + X.T @ X
    np.testing.assert_allclose(gram.solve(np.eye(dim)), np.linalg.inv(M), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(gram.variance(np.eye(dim)), np.diag(np.linalg.inv(M)), rtol=1e-11)
    np.testing.assert_allclose(gram.coef, np.linalg.solve(M, X.T @ y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 7, 33])
def test_forms_agree_when_both_are_accurate(dim):
    rng = np.random.default_rng(2)
    fast, safe = Gram(dim, 0.7), Gram(dim, 0.7)
    safe.form = safe.form.factored()
    probes = rng.normal(size=(20, dim))
    for n in (1, 1, 5, 70, 2, 300, 1):
        X, y = rng.normal(size=(n, dim)), rng.normal(size=n)
        for gram in (fast, safe):
            gram.absorb(gram.update(X), y)
        np.testing.assert_allclose(fast.variance(probes), safe.variance(probes), rtol=1e-10)
        np.testing.assert_allclose(fast.variance(probes[:1]), safe.variance(probes[:1]), rtol=1e-10)
        np.testing.assert_allclose(fast.coef, safe.coef, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fast.solve(probes), safe.solve(probes), rtol=1e-9, atol=1e-12)
    assert (type(fast.form), type(safe.form)) == (InverseGram, FactorGram)


@pytest.mark.parametrize(("form", "rows"), [(LowRankGram, 1), (InverseGram, 9), (FactorGram, 9)])
def test_copy_is_independent(form, rows):
    gram = Gram(8, 1.0)
    if form is FactorGram:
        gram.prepare(1e9 * np.ones((1, 8)))
    gram.add(np.ones((rows, 8)), np.ones(rows))
    before = {name: array.copy() for name, array in gram.arrays().items()}
    twin = gram.copy()
    twin.add(np.eye(8)[:2], np.ones(2))
    assert isinstance(gram.form, form)
    for name, array in gram.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert not np.allclose(twin.variance(np.eye(8)), gram.variance(np.eye(8)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    dim=st.integers(1, 4),
    penalty=st.sampled_from([1e-6, 1e-3, 1.0, 1e6]),
    cap=st.booleans(),
    block=st.sampled_from([1, 7, None]),
)
def test_uncertainty_is_never_negative_or_nan(seed, dim, penalty, cap, block):
    X = badly_scaled_rows(150, -6, 6, seed, dim=dim + 1)[:, :dim]
    X[3::10] = 0
    y = np.random.default_rng(seed).uniform(-1, 1, 150)
    model = Ridge(dim, regularization=penalty, cap=cap)
    rule = [QuFUR(1.0), FixedBudget(100, 150), Uniform(0.7)][seed % 3]
    learner = Learner(model, rule, seed=seed)
    trace = run(learner, Arrays(X, y), block=block, delay=seed % 4)
    for column in (trace.prediction, trace.uncertainty, trace.probability, learner.predict(X)):
        assert np.isfinite(column).all()
    assert (np.abs(trace.prediction) <= 1).all()
    assert (trace.uncertainty >= 0).all()
    assert (learner.uncertainty(X) >= 0).all()
    assert ((trace.probability >= 0) & (trace.probability <= 1)).all()
    assert (trace.uncertainty[3::10] == 0).all()


# Memory


def peak(call):
    tracemalloc.start()
    call()
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes


def test_learn_of_many_rows_needs_memory_for_the_rows_only():
    X = np.random.default_rng(0).normal(size=(1500, 4))
    learner = Learner(Ridge(4), Uniform(0.5))
    assert peak(lambda: learner.learn(X, X[:, 0])) < 20 * X.nbytes


def test_tell_of_many_labels_needs_memory_for_the_rows_only():
    X = np.random.default_rng(0).normal(size=(1500, 4))
    learner = Learner(Ridge(4), Uniform(1.0))
    learner.ask_many(X)
    assert peak(lambda: learner.tell_many(learner.outstanding, X[:, 0])) < 20 * X.nbytes


@pytest.mark.filterwarnings("ignore::qufur.OutlierWarning")
@pytest.mark.parametrize(
    ("rows", "scale"), [(3, 1.0), (40, 1.0), (40, 1e6)], ids=["young", "inverse", "factor"]
)
@pytest.mark.parametrize("pending", [0, 2])
def test_labels_can_be_learned_again_in_every_form(rows, scale, pending):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, 8)) * np.where(np.arange(rows) % 2, 1.0, scale)[:, None]
    y = rng.normal(size=rows)
    wrong, right = (Learner(Ridge(8, regularization=0.5), Uniform(1.0)) for _ in range(2))
    labelled = range(rows - pending)
    for learner, labels in ((wrong, np.where(np.arange(rows) == 0, 1e15, y)), (right, y)):
        learner.ask_many(X)
        learner.tell_many(labelled, labels[: len(labelled)])
    assert wrong.state.labelled.sequential_only == (scale > 1)
    wrong.state.relabel(X[: len(labelled)], y[: len(labelled)])
    for missing in (y[len(labelled) :], y[:0]):  # then continue with the pending labels
        np.testing.assert_allclose(wrong.predict(X), right.predict(X), atol=1e-9)
        np.testing.assert_allclose(wrong.uncertainty(X), right.uncertainty(X), rtol=1e-7)
        assert wrong.report().fit.noise == pytest.approx(right.report().fit.noise)
        assert wrong.state.labelled.tested().sums == pytest.approx(right.state.labelled.tested().sums)
        for learner in (wrong, right):
            learner.tell_many(list(learner.outstanding), missing)
