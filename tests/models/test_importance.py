"""Tests of `Ridge(importance=…)`: weights by query probability, by hand and against a dense solve."""

import numpy as np
import pytest
from tests.raw_states import label, query
from tests.refusals import refusal
from tests.same import same

from qufur import Learner, QuFUR, Ridge, Steady, Uniform, run
from qufur.models._least_squares_state import LeastSquaresState
from qufur.snapshot import encode
from qufur.streams import Arrays

HORIZON = 150
RULE = QuFUR(3.0, floor=0.05)


def stream_of(dim=4, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(HORIZON, dim)) / dim**0.5
    X[7::5] = X[3]
    return Arrays(X, np.clip(X[:, 0] + X[:, 1] ** 2, -1, 1) + 0.1 * rng.normal(size=HORIZON))


def weights_of(probability, importance):
    mean = np.array([probability[: t + 1].mean() for t in range(len(probability))])
    return np.minimum(20, (mean / np.maximum(probability, 1e-300)) ** importance)


def solution(X, y, weights, probes, penalty):
    M = penalty * np.eye(X.shape[1]) + X.T @ (weights[:, None] * X)
    return probes @ np.linalg.solve(M, X.T @ (weights * y))


@pytest.mark.parametrize("importance", [0.3, 1.0])
@pytest.mark.parametrize("delay", [0, 9, 1000])
@pytest.mark.parametrize("block", [1, 40])
def test_predictions_are_those_of_weighted_least_squares(importance, delay, block):
    stream, model = stream_of(), Ridge(4, regularization=0.3, clip=False, importance=importance)
    trace = run(learner := Learner(model, RULE), stream, delay=delay, block=block)
    plain = run(Learner(Ridge(4, regularization=0.3, clip=False), RULE), stream, delay=delay, block=block)
    weights, q = weights_of(trace.probability, importance), trace.query
    assert weights[q].max() > 1.5
    assert weights[q].min() < 0.9
    expected = solution(stream.X[q], stream.y[q], weights[q], stream.X, 0.3)
    np.testing.assert_allclose(learner.predict(stream.X), expected, atol=1e-12)
    for name in ("query", "uncertainty", "probability"):
        np.testing.assert_array_equal(getattr(trace, name), getattr(plain, name), name)
    for t in (50, 100, 149):
        there = q & (np.arange(HORIZON) + delay < t)
        expected = solution(stream.X[there], stream.y[there], weights[there], stream.X[[t]], 0.3)
        np.testing.assert_allclose(trace.prediction[t], expected[0], atol=1e-12)


def test_weights_are_at_most_twenty_and_one_for_free_labels():
    state = Ridge(1, importance=1.0, clip=False).start()
    query(state, ["a"], np.ones((1, 1)), probability=1e-300, mean_probability=0.5)
    query(state, ["b"], np.ones((1, 1)), probability=0.5, mean_probability=0.5)
    label(state, ["a"], np.array([1.0]))
    np.testing.assert_allclose(state.predict(np.ones((1, 1))), 20 / 21)
    label(state, ["b"], np.array([0.0]))
    state.learn(np.ones((1, 1)), np.array([0.0]))
    np.testing.assert_allclose(state.predict(np.ones((1, 1))), 20 / 23)
    np.testing.assert_allclose(state.uncertainty(np.ones((1, 1))), 1 / 4)


def test_weighted_state_is_independent_of_label_order_and_retractions():
    stream, model = stream_of(), Ridge(4, regularization=0.3, importance=1.0)
    ends = []
    for seed in range(3):
        learner = Learner(model, RULE, seed=4)
        learner.ask_many(stream.X)
        gone = learner.outstanding[1::4]
        ids = np.random.default_rng(seed).permutation([id for id in learner.outstanding if id not in gone])
        learner.tell_many(ids[:9].tolist(), stream.y[ids[:9]])
        learner.retract_many(gone)
        for id in ids[9:].tolist():
            learner.tell(id, stream.y[id])
        ends.append((learner.predict(stream.X), learner.uncertainty(stream.X)))
    M = np.eye(4) * 0.3 + stream.X[ids].T @ stream.X[ids]
    variance = np.einsum("ij,ji->i", stream.X, np.linalg.solve(M, stream.X.T))
    np.testing.assert_allclose(ends[0][1], np.minimum(1, variance), atol=1e-10)
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-12)


def test_weights_of_pending_queries_are_saved(tmp_path):
    stream, model = stream_of(), Ridge(4, intercept=True, importance=0.8)
    uninterrupted, reloaded = (Learner(model, RULE, seed=3) for _ in range(2))
    for start in range(0, HORIZON, 11):
        for each in (uninterrupted, reloaded):
            each.ask_many(stream.X[start : start + 11])
        reloaded.save(tmp_path / "learner.qufur")
        reloaded = Learner.load(tmp_path / "learner.qufur")
        for each in (uninterrupted, reloaded):
            each.tell_many(each.outstanding[1::2], stream.y[list(each.outstanding[1::2])])
        assert same(uninterrupted, reloaded)
    assert uninterrupted.outstanding


def test_replaced_label_keeps_its_weight():
    stream, model = stream_of(), Ridge(4, regularization=0.3, importance=1.0)
    learner, reordered = (Learner(model, RULE) for _ in range(2))
    for each in (learner, reordered):
        each.ask_many(stream.X)
    rows = learner.state.queried_rows(list(learner.pending.values()))
    ids, wrong = list(learner.outstanding), stream.y + 1
    learner.tell_many(ids, wrong[ids])
    learner.state.relabel(rows, stream.y[ids])
    reordered.tell_many(ids, stream.y[ids])
    np.testing.assert_allclose(learner.predict(stream.X), reordered.predict(stream.X), atol=1e-12)
    np.testing.assert_allclose(learner.uncertainty(stream.X), reordered.uncertainty(stream.X), atol=1e-12)


def test_importance_is_off_by_default():
    assert type(Ridge(3).start()) is type(Ridge(3, importance=0).start()) is LeastSquaresState
    assert not Ridge(3).tags.uses_purchases
    assert not any("weighted" in name for name in encode(Learner(Ridge(3), RULE))[1])


def test_fit_diagnostics_ignore_weights():
    stream, fits = stream_of(), []
    for importance in (0.0, 1.0):
        run(learner := Learner(Ridge(4, importance=importance), RULE), stream)
        fits.append(learner.report().fit)
    assert fits[0] == fits[1]


def test_predictor_is_frozen():
    stream = stream_of()
    run(learner := Learner(Ridge(4, importance=1.0), Steady(40, HORIZON)), stream)
    before, predictor = learner.predict(stream.X), learner.state.predictor()
    learner.learn(stream.X[:9], np.ones(9))
    np.testing.assert_array_equal(predictor(stream.X), before)
    assert not np.array_equal(learner.predict(stream.X), before)


def test_importance_improves_a_linear_model_of_a_nonlinear_target():
    """Most queries are in one corner; the weights compensate for it."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.random(4000) ** 3, np.ones(4000)])
    y = X[:, 0] ** 2
    losses = []
    for importance in (0.0, 1.0):
        model = Ridge(2, regularization=0.01, importance=importance)
        losses.append(run(Learner(model, QuFUR(20.0)), Arrays(X, y)).loss[2000:].mean())
    assert losses[1] < 0.95 * losses[0]


@pytest.mark.parametrize("value", [-0.1, 1.1, "all", None, True, float("nan")])
def test_invalid_importance_raises(value):
    message = refusal(lambda: Ridge(3, importance=value))
    assert message.startswith("importance of Ridge must be a number from 0 to 1, got ")


def test_importance_with_half_life_raises():
    message = refusal(lambda: Ridge(3, importance=0.5, half_life=9))
    assert message.startswith("importance of Ridge must be 0 in a model that forgets, got 0.5 beside")


def test_queries_without_recorded_purchases_have_weight_one():
    learner = Learner(Ridge(4, importance=1.0), Uniform(0.5))
    stream = stream_of()
    run(learner, stream)
    assert learner.report(inputs=stream.X)
