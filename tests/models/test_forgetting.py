"""Tests of `Ridge(half_life=…)`: weights by hand, the slow implementation, and a drifting target."""

import math

import numpy as np
import pytest
from tests.oracle import Oracle
from tests.refusals import refusal
from tests.same import same
from threadpoolctl import threadpool_limits

from qufur import Learner, Paced, QuFUR, Ridge, Softmax, Threshold, Uniform, online_to_batch, plan, run
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.snapshot import encode
from qufur.streams import Arrays

pytestmark = pytest.mark.usefixtures("one_thread")
HORIZON = 240
DELAYS = {"immediate": 0, "by 11": 11, "random": np.random.default_rng(2).integers(0, 90, HORIZON)}


@pytest.fixture(scope="module")
def one_thread():
    """Limit BLAS to one thread: many small factorisations would compete for busy cores."""
    with threadpool_limits(limits=1):
        yield


def stream_of(dim, horizon=HORIZON, seed=1):
    """Return unit vectors with duplicates and a zero vector, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(horizon, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[5::9], X[horizon // 3] = X[4], 0
    y = X @ rng.normal(size=dim) / math.sqrt(dim) + 0.1 * rng.normal(size=horizon)
    return Arrays(X, y)


# Weights computed by hand


def test_label_counts_half_after_its_half_life():
    learner = Learner(Ridge(1, half_life=64), Threshold(10.0))
    learner.learn([[1.0]], [1.0])
    for count, weight in [(0, 1), (3, 1), (1, 2 ** (-1 / 16)), (60, 0.5), (64, 0.25)]:
        learner.ask_many(np.zeros((count, 1)))
        np.testing.assert_allclose(learner.uncertainty([1.0]), 1 / (1 + weight), rtol=1e-14)
        np.testing.assert_allclose(learner.predict([1.0]), weight / (1 + weight), rtol=1e-13)


@pytest.mark.parametrize("half_life", [1, 2, 15, 16, 31, 32, 100])
def test_any_half_life_halves(half_life):
    learner = Learner(Ridge(2, half_life=half_life), Threshold(10.0))
    learner.learn([[1.0, 0.0]], [1.0])
    half_lives = max(1, half_life // 16)  # a whole number of discount steps
    learner.ask_many(np.zeros((half_lives * half_life, 2)))
    weight = 0.5**half_lives
    np.testing.assert_allclose(learner.predict([1.0, 0.0]), weight / (1 + weight), rtol=1e-12)


def test_late_label_has_the_weight_of_its_query():
    learner = Learner(Ridge(1, half_life=16, label_range=(0, 10)), QuFUR(1.0, budget=1))
    id = learner.ask([1.0]).id
    learner.ask_many(np.zeros((15, 1)))
    np.testing.assert_allclose(learner.uncertainty([1.0]), 2 / 3)  # the weight of the query is now 1/2
    assert learner.predict([1.0]) == 5
    learner.tell(id, 10.0)
    np.testing.assert_allclose(learner.predict([1.0]), 5 + 5 / 3)  # M = 3/2, Σ x y = 1/2
    np.testing.assert_allclose(learner.uncertainty([1.0]), 2 / 3)


def test_free_labels_start_with_full_weight():
    learner = Learner(Ridge(1, half_life=2), Threshold(10.0))
    learner.ask_many(np.zeros((99, 1)))
    learner.learn([[1.0]], [1.0])
    np.testing.assert_allclose(learner.predict([1.0]), 0.5)


def test_old_labels_vanish_completely():
    for dim, rows in [(40, 3), (4, 30), (3, 30)]:
        learner = Learner(Ridge(dim, half_life=1), Threshold(1e9))
        X = np.random.default_rng(0).normal(size=(rows, dim)) * (1e5 if dim == 3 else 1)
        learner.learn(X, np.ones(rows))
        learner.ask_many(np.zeros((2500, dim)))
        assert not any(learner.predict(X))
        np.testing.assert_allclose(learner.uncertainty(np.eye(dim)), 1, rtol=1e-12)
        numbers = np.concatenate([array.ravel() for array in encode(learner)[1].values()])
        assert not ((numbers != 0) & (np.abs(numbers) < np.finfo(float).tiny)).any(), "subnormal: slow"


# Against the slow implementation


@pytest.mark.parametrize("dim", [1, 5, 40])
def test_order_of_labels_and_retractions_do_not_matter(dim):
    model, stream, rng = Ridge(dim, half_life=32), stream_of(dim), np.random.default_rng(6)
    learner = Learner(model, Uniform(0.4), seed=1)
    slow = Oracle(model, Uniform(0.4), np.random.default_rng(1))
    for start in range(0, HORIZON, 20):
        learner.ask_many(stream.X[start : start + 20])
        for x in stream.X[start : start + 20]:
            slow.ask(x)
        for id in rng.permutation(learner.outstanding)[:6].tolist():
            for each in (learner, slow):
                each.retract(id) if id % 3 == 0 else each.tell(id, stream.y[id])
        for x in stream.X[:4]:
            np.testing.assert_allclose(learner.predict(x)[0], slow.prediction(x), atol=1e-10)
            np.testing.assert_allclose(learner.uncertainty(x)[0], slow.uncertainty(x), atol=1e-10)
    assert learner.outstanding


@pytest.mark.parametrize("dim", [1, 5, 40])
def test_labels_at_the_end_equal_immediate_labels(dim):
    model, stream = Ridge(dim, half_life=50), stream_of(dim)
    run(immediate := Learner(model, QuFUR(1.0), seed=2), stream)
    late = Learner(model, QuFUR(1.0), seed=2)
    late.ask_many(stream.X)
    assert late.spent == immediate.spent
    ids = np.random.default_rng(3).permutation(late.outstanding).tolist()
    late.tell_many(ids[::2], stream.y[ids[::2]])
    late.tell_many(ids[1::2], stream.y[ids[1::2]])
    np.testing.assert_allclose(late.predict(stream.X), immediate.predict(stream.X), atol=1e-12)
    np.testing.assert_allclose(late.uncertainty(stream.X), immediate.uncertainty(stream.X), atol=1e-12)


@pytest.mark.parametrize("dim", [1, 5, 40])
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_saving_and_loading_midway_changes_no_bit(tmp_path, dim, size):
    model, stream = Ridge(dim, half_life=40), stream_of(dim)
    uninterrupted, reloaded = (Learner(model, QuFUR(0.7), seed=3) for _ in range(2))
    for start in range(0, HORIZON, 7):  # the step is 2: stops between discounts and at them
        reloaded.save(tmp_path / "learner.qufur")
        reloaded = Learner.load(tmp_path / "learner.qufur")
        for each in (uninterrupted, reloaded):
            each.ask_many(size * stream.X[start : start + 7])
            each.tell_many(each.outstanding[1::2], stream.y[list(each.outstanding[1::2])])
        assert same(uninterrupted, reloaded)
    assert uninterrupted.outstanding[0] < HORIZON // 2, "no label is pending over many discounts"


# Numbers


def weighted_solution(X, y, weights, penalty, probes):
    """Return xᵀM⁻¹x and ⟨θ̂, x⟩ by a QR decomposition of all weighted rows."""
    dim = X.shape[1]
    roots = np.sqrt(weights)[:, None]
    Q, R = np.linalg.qr(np.vstack([math.sqrt(penalty) * np.eye(dim), roots * X]))
    half = np.linalg.solve(R.T, probes.T)
    return (half**2).sum(axis=0), half.T @ (Q.T @ np.concatenate([np.zeros(dim), roots[:, 0] * y]))


@pytest.mark.parametrize(
    ("dim", "rows", "decades", "form"),
    [(40, 15, 0, LowRankGram), (6, 800, 0, InverseGram), (6, 800, 6, FactorGram), (40, 300, 6, FactorGram)],
)
def test_every_form_stays_accurate(dim, rows, decades, form):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, dim)) * 10.0 ** rng.uniform(-decades, decades, (rows, 1))
    X[:, -1] = 0  # in this direction M is λ
    y, probes, gram = rng.normal(size=rows), rng.normal(size=(9, dim)), Gram(dim, 0.5)
    for t in range(rows):
        gram.add(X[t : t + 1], y[t : t + 1])
        gram.discount(0.99, 0.5)
    assert isinstance(gram.form, form)
    weights = 0.99 ** (rows - np.arange(rows))
    variance, scores = weighted_solution(X, y, weights, 0.5, probes)
    np.testing.assert_allclose(gram.variance(probes), variance, rtol=1e-7)
    np.testing.assert_allclose(gram.scores(probes), scores, rtol=1e-7, atol=1e-9)


def test_large_rows_after_a_discount_change_the_form():
    """Before the discount M⁻¹ is small and rows of norm 300 are harmless; after it they are not."""
    gram = Gram(2, 1e-2)
    for _ in range(200):
        gram.add(10 * np.eye(2))
    gram.prepare(np.array([[300.0, 0.0]]))
    assert isinstance(gram.form, InverseGram)
    gram.discount(1e-12, 1e-2)
    gram.prepare(np.array([[300.0, 0.0]]))
    assert isinstance(gram.form, FactorGram)


def test_negligible_rows_are_dropped():
    gram, x = Gram(200, 1.0), np.ones((1, 200)) / 20
    for _ in range(500):
        gram.add(x, np.ones(1))
        gram.discount(0.5, 1.0)
    assert isinstance(gram.form, LowRankGram)
    assert len(gram.form.rows) < 70  # 2^−67 of their square is below 10⁻²⁰
    np.testing.assert_allclose(gram.scores(x), 0.5 / 1.5, rtol=1e-12)  # ‖x‖² Σ 2⁻ᵏ = 1/2


# The default, and functions that depend on forgetting


def test_forgetting_is_off_by_default():
    assert Ridge(3).half_life is None
    assert not Ridge(3).tags.forgets
    assert type(Ridge(3).start()) is LeastSquaresState
    assert encode(Learner(Ridge(3), QuFUR(1.0)))[0]["state"].keys() == {"fresh", "stale"}
    assert not Softmax(3, 2).raw.tags.forgets


@pytest.mark.parametrize("delay", DELAYS)
def test_state_before_the_first_discount_equals_ridge_to_the_bit(delay):
    stream = stream_of(5)
    ends = [Learner(Ridge(5, half_life=h), QuFUR(1.0), seed=1) for h in (None, 16 * (HORIZON + 1))]
    traces = [run(learner, stream, delay=DELAYS[delay]) for learner in ends]
    for name in ("prediction", "uncertainty", "probability", "query"):
        np.testing.assert_array_equal(*(getattr(trace, name) for trace in traces))
    np.testing.assert_array_equal(*(learner.predict(stream.X) for learner in ends))


def test_forecast_of_queries_forgets_too():
    stream = stream_of(3)
    lasting, forgetting = (plan(Ridge(3, half_life=h), stream, 40, seeds=range(3)) for h in (None, 30))
    assert forgetting.alpha < lasting.alpha  # Δ stays larger, so that a smaller α spends as much
    assert forgetting.forecast[2].regret.mean > lasting.forecast[2].regret.mean


def test_online_to_batch_raises_for_a_model_that_forgets():
    message = refusal(lambda: online_to_batch(Learner(Ridge(5, half_life=9), QuFUR(1.0)), stream_of(5)))
    assert message.startswith("model of online_to_batch must be one that does not forget, got Ridge(")


# A drifting target


def turning_stream(turns, *, dim=5, horizon=2000, noise=0.1, seed=0):
    """Return a stream whose θ* turns in a plane at a constant speed; inputs are uniform on the sphere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(horizon, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    angle = 2 * math.pi * turns * np.arange(horizon) / horizon
    truth = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    return Arrays(X, truth + noise * rng.normal(size=horizon), truth=truth)


def regret_ratio(turns, seed):
    """Return the regret with a half-life of 100 over that without, at the same budget."""
    regret = []
    for half_life in (100, None):
        model = Ridge(5, regularization=0.05, half_life=half_life)
        trace = run(Learner(model, Paced(400, 2000), seed=seed), turning_stream(turns, seed=seed))
        assert trace.queries == 400, "the budget is not spent exactly"
        regret.append(trace.total_regret)
    return regret[0] / regret[1]


def test_forgetting_follows_a_drifting_target():
    """Over 60 seeds log ratio is −2.63 ± 0.15: if normal, above log 0.2 for one seed in 10¹⁰."""
    assert regret_ratio(0.25, seed=0) < 0.2


def test_forgetting_costs_accuracy_on_a_stationary_target():
    """Over 60 seeds log ratio is 0.98 ± 0.22: if normal, outside these limits for one seed in 60,000."""
    assert 1.05 < regret_ratio(0.0, seed=0) < 7


def test_fit_weights_labels_as_the_model_does():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 3))
    y = X @ [0.2, -0.1, 0.3] + np.where(np.arange(400) < 200, 0.5, 0.1) * rng.normal(size=400)
    learner = Learner(Ridge(3, half_life=32), Uniform(1.0))
    run(learner, Arrays(X, y))
    fit = learner.report().fit
    assert fit.labels == pytest.approx(sum(2 ** (-k / 16) * 2 for k in range(1, 201)))
    assert 0.07 < fit.noise < 0.14  # the recent noise; that of the first half is forgotten
