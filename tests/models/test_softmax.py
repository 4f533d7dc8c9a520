"""Tests of `Softmax`: a transcription of the paper's training, scikit-learn's optimum, and contracts."""

import dataclasses
import math
from unittest import mock

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.raw_states import query
from tests.same import same
from tests.soak import spread

from qufur import FixedBudget, Greedy, Learner, QuFUR, Ridge, Threshold, Uniform, run
from qufur.models._softmax_state import DualInformation, PrimalInformation
from qufur.models.softmax import FisherSoftmax, Softmax
from qufur.models.training import converged
from qufur.models.training.adam import PaperAdam
from qufur.models.training.converged import (
    Converged,
    HessianPreconditioner,
    step_through_examples,
    step_through_gram,
)
from qufur.snapshot import encode
from qufur.streams import Arrays

T, DIM, CLASSES = 90, 6, 3
MODELS = [
    Softmax(DIM, CLASSES),
    Softmax(DIM, CLASSES, regularization=0.1, cap=False, noise=2.0, training=Converged(penalty=0.1)),
    Softmax(DIM, CLASSES, norm_bound=3.0, training=PaperAdam(batch=16)),
    FisherSoftmax(DIM, CLASSES),
    FisherSoftmax(DIM, CLASSES, cap=False, training=PaperAdam(epochs=1)),
]
RULES = [QuFUR(1.0), QuFUR(3.0, budget=20), FixedBudget(40, T), Uniform(0.4), Greedy(25), Threshold(0.2)]


def examples(dim=DIM, classes=CLASSES, horizon=T, seed=0):
    """Return read-only separable data with noise, a shift, duplicates and zero vectors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(horizon, dim)) / math.sqrt(dim)
    X[: horizon // 3, dim // 2 :] = 0
    X[5::9] = X[4]
    X[6::13] = 0
    scores = 4 * X @ rng.normal(size=(dim, classes)) + rng.gumbel(size=(horizon, classes)) / 2
    y = scores.argmax(axis=1).astype(float)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def stream(**options):
    return Arrays(*examples(**options))


def predict_after_labels(learner, X, y, ids):
    for id in ids:
        learner.tell(id, y[id])
    return learner.predict(X)


def log_loss(learner, X, y):
    return -np.log(learner.state.probabilities(X)[np.arange(len(y)), y.astype(int)]).mean()


class Transcription:
    """Classifier of the paper's experiments, line by line: plain loops, single precision, standard Adam."""

    def __init__(self, dim, classes, seed=0):
        bound = 1 / math.sqrt(dim)
        draws = np.random.default_rng(seed).uniform(-bound, bound, (classes, dim))
        self.W = draws.astype(np.float32)
        self.m = np.zeros_like(self.W)
        self.v = np.zeros_like(self.W)
        self.t = 0

    def predict(self, x):
        return int(np.argmax([np.dot(w, x) for w in self.W]))

    def train(self, inputs, labels, epochs=3, batch=64):
        for _ in range(epochs):
            for start in range(0, len(inputs), batch):
                self.step(inputs[start : start + batch], labels[start : start + batch])

    def step(self, inputs, labels):
        gradient = np.zeros_like(self.W)
        for x, label in zip(inputs, labels, strict=True):
            logits = np.array([np.dot(w, x) for w in self.W], np.float32)
            p = np.exp(logits - logits.max())
            p = p / p.sum()
            for k in range(len(p)):
                gradient[k] += (p[k] - np.float32(k == label)) / np.float32(len(inputs)) * x
        gradient = gradient + np.float32(0.001) * self.W
        self.t += 1
        self.m = np.float32(0.9) * self.m + np.float32(0.1) * gradient
        self.v = np.float32(0.999) * self.v + np.float32(0.001) * gradient * gradient
        first = self.m / np.float32(1 - 0.9**self.t)
        second = self.v / np.float32(1 - 0.999**self.t)
        self.W = self.W - np.float32(0.003) * first / (np.sqrt(second) + np.float32(1e-8))


@pytest.mark.parametrize(("alpha", "fewest"), [(0.5, 20), (4.0, 65)])
def test_paper_adam_equals_a_transcription(alpha, fewest):
    horizon, dim, classes = 150, 20, 4
    X, y = examples(dim, classes, horizon, seed=3)
    level = np.linalg.norm(X, axis=1).max()
    model = Softmax(dim, classes, regularization=level, cap=False, training=PaperAdam())
    learner = Learner(model, QuFUR(alpha), seed=5)
    trace = run(learner, Arrays(X, y))

    draws = np.random.default_rng(5).random(horizon)
    reference, M = Transcription(dim, classes), level * np.eye(dim)
    inputs, labels = [], []
    for t in range(horizon):
        x = X[t].astype(np.float32)
        assert trace.prediction[t] == reference.predict(x)
        query = draws[t] < min(1.0, alpha * (X[t] @ np.linalg.solve(M, X[t])))
        assert trace.query[t] == query
        if query:
            M += np.outer(X[t], X[t])
            inputs.append(x)
            labels.append(y[t])
            reference.train(inputs, labels)
    assert len(labels) >= fewest
    np.testing.assert_array_equal(trace.loss, trace.prediction != y)
    np.testing.assert_allclose(learner.state.trainer.weights, reference.W, rtol=0, atol=1e-6)
    logits = X.astype(np.float32) @ reference.W.T
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(learner.state.probabilities(X), P, atol=1e-6)


def test_paper_adam_starts_with_random_float32_weights():
    trainer = PaperAdam(seed=4).start(100, 5)
    assert trainer.weights.dtype == np.float32
    assert 0.09 < abs(trainer.weights).max() <= 0.1
    assert not np.array_equal(trainer.weights, PaperAdam(seed=5).start(100, 5).weights)


@pytest.mark.parametrize("count", [12, 80])  # fewer and more than dimensions: both forms of the Newton step
def test_converged_has_no_gradient_left(count):
    X, y = examples(30, 4, count)
    training = Converged(tolerance=1e-7)
    trainer = training.start(30, 4)
    for i in range(count):
        trainer.learn(X[i : i + 1], y[i : i + 1].astype(int))
        P = np.exp(X[: i + 1] @ trainer.weights.T)
        P /= P.sum(axis=1, keepdims=True)
        P[np.arange(i + 1), y[: i + 1].astype(int)] -= 1
        gradient = P.T @ X[: i + 1] / (i + 1) + training.penalty * trainer.weights
        assert np.linalg.norm(gradient) <= training.penalty * training.tolerance
        np.testing.assert_allclose(trainer._at(trainer.weights).gradient, gradient, atol=1e-14)


@pytest.mark.parametrize("count", [15, 80])
@pytest.mark.parametrize("penalty", [1e-3, 1.0])
def test_converged_equals_scikit_learn(count, penalty):
    X, y = examples(20, 4, count)
    assert len(np.unique(y)) == 4
    trainer = Converged(penalty=penalty).start(20, 4)
    trainer.learn(X, y.astype(int))
    peer = LogisticRegression(C=1 / (count * penalty), fit_intercept=False, tol=1e-10, max_iter=10**5)
    peer.fit(X, y)
    np.testing.assert_allclose(trainer.weights, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(trainer.probabilities(X), peer.predict_proba(X), atol=1e-5)
    nonzero = X.any(axis=1)
    np.testing.assert_array_equal(trainer.predict(X)[nonzero], peer.predict(X)[nonzero])


def test_two_classes_equal_scikit_learn():
    X, y = examples(8, 2, 60)
    trainer = Converged(penalty=0.01).start(8, 2)
    trainer.learn(X, y.astype(int))
    # One vector w = W₁ − W₀ with ‖W₀‖² + ‖W₁‖² = ‖w‖²/2.
    peer = LogisticRegression(C=2 / (60 * 0.01), fit_intercept=False, tol=1e-10, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(trainer.weights[1] - trainer.weights[0], peer.coef_[0], atol=1e-5)


@pytest.mark.parametrize("dim", [10, 150])
def test_converged_is_independent_of_label_order(dim):
    X, y = examples(dim, 4, 100)
    # Norms over six decades.
    X = X * 10.0 ** np.random.default_rng(1).uniform(-3, 3, (100, 1))
    sequential, reversed_batch = (Converged().start(dim, 4) for _ in range(2))
    for i in range(100):
        sequential.learn(X[i : i + 1], y[i : i + 1].astype(int))
    reversed_batch.learn(X[::-1], y[::-1].astype(int))
    np.testing.assert_allclose(sequential.weights, reversed_batch.weights, atol=1e-7)
    np.testing.assert_array_equal(sequential.predict(X), reversed_batch.predict(X))


def test_newton_steps_solve_the_same_system():
    rng = np.random.default_rng(0)
    X, P, g = rng.normal(size=(12, 9)), rng.dirichlet(np.ones(3), 12).T, rng.normal(size=(3, 9))
    H = 0.01 * np.eye(27)
    for i in range(12):
        H += np.kron(np.diag(P[:, i]) - np.outer(P[:, i], P[:, i]), np.outer(X[i], X[i])) / 12
    exact = np.linalg.solve(H, -g.ravel()).reshape(3, 9)
    preconditioner = HessianPreconditioner(3, 9)
    for _ in range(2):  # the second step reuses the Hessian of the first
        np.testing.assert_allclose(
            step_through_examples(X, P, g, 0.01, 1e-9, preconditioner), exact, atol=1e-6
        )
    np.testing.assert_allclose(step_through_gram(X, X @ X.T, P, g, 0.01, 1e-6), exact, atol=1e-3)


def count_products(monkeypatch, preconditioner, X, P, g):
    """Return the number of products with the Hessian in one step."""
    product = mock.Mock(side_effect=converged._curvature_product)
    with monkeypatch.context() as patch:
        patch.setattr(converged, "_curvature_product", product)
        step_through_examples(X, P, g, 1e-3, 1e-9, preconditioner)
    return product.call_count


def test_hessian_preconditioner_shortens_steps_on_badly_scaled_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X, P, g = rng.normal(size=(90, 16)), rng.dirichlet(np.ones(4), 90).T, rng.normal(size=(4, 16))
    X *= np.geomspace(0.1, 300, 16)
    preconditioner, never = HessianPreconditioner(4, 16), HessianPreconditioner(4, 16)
    never.patience = None
    assert count_products(monkeypatch, never, X, P, g) > 64
    assert count_products(monkeypatch, preconditioner, X, P, g) < preconditioner.patience + 6
    assert count_products(monkeypatch, preconditioner, X, P, g) < 6
    assert count_products(monkeypatch, preconditioner, X, 0.99 * P + 0.0025, g) <= preconditioner.patience


def test_indefinite_hessian_is_ignored(monkeypatch):
    rng = np.random.default_rng(0)
    X, P, g = 1e9 * rng.normal(size=(3, 20)), rng.dirichlet(np.ones(3), 3).T, rng.normal(size=(3, 20))
    preconditioner = HessianPreconditioner(3, 20)
    preconditioner.compute(X, P, 1e-3)
    np.testing.assert_array_equal(preconditioner.solve(g), g)


def test_large_hessians_are_never_computed():
    assert HessianPreconditioner(10, 102).patience == 127
    assert HessianPreconditioner(10, 103).patience is None


def test_indistinguishable_classes_tie_for_the_first():
    trainer = Converged().start(2, 5)
    np.testing.assert_array_equal(trainer.predict(np.eye(2)), [0, 0])
    trainer.learn(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([4, 3]))
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(trainer.predict(X), [3, 0, 0])
    trainer.weights[4, 0] += 1e-9
    np.testing.assert_array_equal(trainer.predict(X), [3, 0, 0])
    trainer.weights[4, 0] += 1e-6
    np.testing.assert_array_equal(trainer.predict(X), [4, 0, 0])


def test_raw_uncertainty_is_that_of_ridge():
    X, y = examples()
    options = {"regularization": 0.3, "noise": 2.0, "cap": False}
    softmax = run(Learner(Softmax(DIM, CLASSES, **options), QuFUR(0.3), seed=1), Arrays(X, y))
    ridge = run(Learner(Ridge(DIM, **options), QuFUR(0.3), seed=1), Arrays(X, y))
    for column in ("uncertainty", "probability", "query"):
        np.testing.assert_array_equal(getattr(softmax, column), getattr(ridge, column))


def test_fisher_uncertainty_is_that_of_the_diagonal_blocks():
    X, y = examples()
    state = FisherSoftmax(DIM, CLASSES, regularization=0.5, cap=False).start()
    state.learn(X[:40], y[:40])
    query(state, [7, 8], X[40:42])
    P = state.probabilities(X)
    spread = P * (1 - P)
    expected = np.zeros(T)
    for k in range(CLASSES):
        F = 0.5 * np.eye(DIM) + (X[:42].T * spread[:42, k]) @ X[:42]
        expected += spread[:, k] * np.einsum("ij,ij->i", X, np.linalg.solve(F, X.T).T)
    np.testing.assert_allclose(state.uncertainty(X), expected, rtol=1e-9)


def test_dual_and_primal_information_agree():
    rng = np.random.default_rng(2)
    X, weights, Z = rng.normal(size=(9, 12)), rng.uniform(0, 0.25, (9, 3)), rng.normal(size=(5, 12))
    assert DualInformation.suits(X, 0.7)
    assert not DualInformation.suits(1e5 * X, 0.7)
    dual, primal = (cls(X, weights, 0.7).variances(Z) for cls in (DualInformation, PrimalInformation))
    np.testing.assert_allclose(dual, primal, rtol=1e-12)


@pytest.mark.parametrize("model_class", [Softmax, FisherSoftmax])
def test_softmax_declares_its_properties(model_class):
    model = model_class(DIM, CLASSES)
    is_plain = model_class is Softmax
    assert (model.tags.label_free, model.tags.monotone, model.tags.bounded) == (is_plain, is_plain, False)
    assert model.tags.order_independent
    assert not model_class(DIM, CLASSES, training=PaperAdam()).tags.order_independent
    assert set(model.label_codec.examples(np.linspace(-1, 1, 9))) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_budget_holds_without_any_answer(model, rule):
    learner, (X, _) = Learner(model, rule), examples()
    queries = 0
    for x in X:
        queries += learner.ask(x).query
        assert learner.spent == queries == len(learner.outstanding)
        assert rule.budget is None or queries <= rule.budget
    assert queries
    learner.retract(learner.outstanding[0])
    assert learner.spent == queries - 1


DELAYS = {"0": 0, "7": 7, "random": np.random.default_rng(3).integers(0, 40, T)}
PLAYED = {
    (row, column, number): pytest.param(model, rule, delay, id=f"{model}-{rule}-{name}")
    for row, model in enumerate(MODELS)
    for column, rule in enumerate(RULES)
    for number, (name, delay) in enumerate(DELAYS.items())
}


@pytest.mark.parametrize(("model", "rule", "delay"), spread(PLAYED, 3))
def test_block_size_changes_nothing(model, rule, delay):
    traces, learners = [], []
    for block in (1, 7, T, None):
        learners.append(Learner(model, rule, seed=2))
        traces.append(run(learners[-1], stream(), block=block, delay=delay))
    for trace, learner in zip(traces[1:], learners[1:], strict=True):
        np.testing.assert_array_equal(trace.query, traces[0].query)
        for column in ("prediction", "uncertainty", "probability", "loss"):
            np.testing.assert_allclose(getattr(trace, column), getattr(traces[0], column), atol=1e-9)
        assert encode(learner)[0]["rng"] == encode(learners[0])[0]["rng"]
        weights = [each.state.trainer.weights for each in (learner, learners[0])]
        np.testing.assert_allclose(*weights, atol=1e-7)


def test_predictions_in_a_block_follow_the_labels():
    X, y = examples()
    trace = run(Learner(MODELS[2], QuFUR(2.0)), Arrays(X, y))
    learner = Learner(MODELS[2], QuFUR(2.0))
    for t in range(T):
        answer = learner.ask(X[t])
        assert (answer.prediction, answer.query) == (trace.prediction[t], trace.query[t])
        if answer.query:
            learner.tell(answer.id, y[t])


@pytest.mark.parametrize("block", [1, 64])
def test_delayed_labels_are_learned_in_order_of_arrival(block):
    X, y = examples()
    delays = np.random.default_rng(3).integers(0, 5, T)
    played = Learner(MODELS[2], QuFUR(2.0))
    trace = run(played, Arrays(X, y), block=block, delay=delays)
    learner, due = Learner(MODELS[2], QuFUR(2.0)), []
    together = 0
    for t in range(T):
        arrived = [id for when, id in sorted(due) if when == t]
        together += len(arrived) > 1
        predict_after_labels(learner, X, y, arrived)
        answer = learner.ask(X[t])
        assert (answer.prediction, answer.query) == (trace.prediction[t], trace.query[t])
        if answer.query:
            due.append((t + 1 + delays[t], t))
    predict_after_labels(learner, X, y, [id for when, id in sorted(due) if when >= T])
    assert together > 5
    np.testing.assert_allclose(learner.state.trainer.weights, played.state.trainer.weights, atol=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_late_labels_end_where_immediate_ones_do(rule):
    X, y = examples()
    model = MODELS[0]
    immediate = Learner(model, rule)
    trace = run(immediate, Arrays(X, y))
    late = Learner(model, rule)
    queried = [int(answer.id) for answer in late.ask_many(X) if answer.query]
    assert queried == np.flatnonzero(trace.query).tolist()
    np.testing.assert_allclose(late.uncertainty(X), immediate.uncertainty(X), rtol=1e-9)
    np.testing.assert_array_equal(late.predict(X), 0)
    only = Learner(model, rule)
    only.learn(X[queried[::2]], y[queried[::2]])
    np.testing.assert_array_equal(predict_after_labels(late, X, y, queried[::2][::-1]), only.predict(X))
    np.testing.assert_array_equal(predict_after_labels(late, X, y, queried[1::2]), immediate.predict(X))
    np.testing.assert_allclose(late.state.trainer.weights, immediate.state.trainer.weights, atol=1e-6)
    np.testing.assert_allclose(late.uncertainty(X), immediate.uncertainty(X), rtol=1e-9)


def test_paper_adam_depends_on_label_order_alone():
    X, y = examples()
    sequential, batched, free = (Learner(MODELS[2], Uniform(0.5)) for _ in range(3))
    ids = [int(answer.id) for answer in sequential.ask_many(X) if answer.query]
    batched.ask_many(X)
    batched.tell_many(ids, y[ids])
    predict_after_labels(sequential, X, y, ids)
    free.learn(X[ids], y[ids])
    for learner in (batched, free):
        np.testing.assert_array_equal(learner.state.trainer.weights, sequential.state.trainer.weights)
    backwards = Learner(MODELS[2], Uniform(0.5))
    backwards.ask_many(X)
    predict_after_labels(backwards, X, y, ids[::-1])
    assert not np.allclose(backwards.state.trainer.weights, sequential.state.trainer.weights, atol=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_retracted_queries_leave_no_trace(model):
    X, y = examples()
    learner, only = Learner(model, Uniform(0.5)), Learner(model, Uniform(0.5))
    ids = [int(answer.id) for answer in learner.ask_many(X) if answer.query]
    labelled, retracted = sorted(ids[::3] + ids[1::3]), ids[2::3]
    learner.tell_many(ids[::3], y[ids[::3]])
    for id in retracted:
        learner.retract(id)
    assert list(learner.outstanding) == ids[1::3]
    learner.tell_many(ids[1::3], y[ids[1::3]])
    only.learn(X[ids[::3] + ids[1::3]], y[ids[::3] + ids[1::3]])
    assert learner.spent == len(labelled)
    np.testing.assert_array_equal(learner.predict(X), only.predict(X))
    np.testing.assert_allclose(learner.uncertainty(X), only.uncertainty(X), rtol=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_loaded_learner_continues_bit_for_bit(model, tmp_path):
    X, y = examples()
    uninterrupted, reloaded = (Learner(model, QuFUR(2.0), seed=7) for _ in range(2))
    for t in range(T):
        assert uninterrupted.ask(X[t]) == reloaded.ask(X[t])
        for learner in (uninterrupted, reloaded):
            predict_after_labels(learner, X, y, learner.outstanding[:-2])
        if t % 11 == 0:
            reloaded.save(tmp_path / "learner.qufur")
            reloaded = Learner.load(tmp_path / "learner.qufur")
    assert reloaded.model == model
    assert same(uninterrupted, reloaded)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_predict_and_uncertainty_change_nothing(model):
    X, y = examples()
    looking, unseen = Learner(model, QuFUR(2.0)), Learner(model, QuFUR(2.0))
    for t in range(T):
        for learner in (looking, unseen):
            answer = learner.ask(X[t])
            if answer.query and t % 3:
                learner.tell(answer.id, y[t])
        looking.predict(X)
        looking.uncertainty(X)
        looking.state.probabilities(X)
    assert same(looking, unseen)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_free_labels_cost_nothing_and_teach(model):
    X, y = examples()
    learner = Learner(model, QuFUR(2.0, budget=5))
    before, loss = learner.uncertainty(X[:1]), log_loss(learner, X, y)
    learner.learn(X, y)
    learner.learn(X[:0], y[:0])
    assert (learner.spent, learner.left) == (0, 5)
    assert learner.uncertainty(X[:1]) < before
    assert log_loss(learner, X, y) < loss


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_outputs_are_classes_and_probabilities(model):
    X, y = examples()
    learner = Learner(model, QuFUR(2.0))
    trace = run(learner, Arrays(X, y))
    assert set(trace.prediction) <= {0.0, 1.0, 2.0}
    assert set(trace.loss) == {0.0, 1.0}
    P = learner.state.probabilities(X)
    assert P.shape == (T, CLASSES)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert (P >= 0).all()
    nonzero = X.any(axis=1)
    np.testing.assert_array_equal(P.argmax(axis=1)[nonzero], learner.predict(X)[nonzero])


@pytest.mark.parametrize("label", [-1, CLASSES, 0.5, 1e300, math.nan, "cat"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_labels_that_are_not_classes_raise_and_change_nothing(model, label):
    X, y = examples()
    learner, untouched = Learner(model, Greedy(8)), Learner(model, Greedy(8))
    for each in (learner, untouched):
        each.ask_many(X[:8])
        each.tell(0, y[0])
    first, second = learner.outstanding[:2]
    for call in (
        lambda: learner.tell(first, label),
        lambda: learner.tell_many([first, second], [1.0, label]),
        lambda: learner.learn(X[:2], [1.0, label]),
    ):
        with pytest.raises(ValueError, match=r"^label of .* must be .*, got .*") as error:
            call()
        assert "\n" not in str(error.value)
        assert same(learner, untouched)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_stream_with_invalid_labels_raises(model):
    X, _ = examples()
    learner = Learner(model, Greedy(8))
    with pytest.raises(ValueError, match=r"must be a class, an integer from 0 to 2, got 2\.5"):
        run(learner, Arrays(X, np.full(T, 2.5)))
    assert same(learner, Learner(model, Greedy(8)))


def test_error_names_the_classes():
    with pytest.raises(
        ValueError, match=r"label of Softmax must be a class, an integer from 0 to 2, got 3\."
    ):
        Learner(MODELS[0], Greedy(8)).learn(np.ones((1, DIM)), [3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim of Softmax must be an integer of at least 1, got 0"),
        ({"classes": 1}, "classes of Softmax must be an integer of at least 2, got 1"),
        ({"classes": 2.0}, "classes of Softmax must be an integer of at least 2, got 2.0"),
        ({"classes": True}, "classes of Softmax"),
        ({"norm_bound": 0}, "norm_bound of Softmax must be a finite number above 0"),
        ({"norm_bound": 1e200}, "norm_bound of Softmax must be such that"),
        ({"regularization": -1}, "regularization of Softmax"),
        ({"noise": -1}, "noise of Softmax"),
        ({"cap": "no"}, "cap of Softmax must be True or False"),
        ({"training": "adam"}, r"training of Softmax must be Converged\(\.\.\.\) or PaperAdam\(\.\.\.\)"),
        ({"training": {"kind": "Prayer"}}, "training of Softmax"),
    ],
)
def test_invalid_options_raise(options, message):
    with pytest.raises(ValueError, match=message):
        Softmax(**({"dim": 4, "classes": 3} | options))


def test_fisher_softmax_errors_name_the_class():
    with pytest.raises(ValueError, match="classes of FisherSoftmax"):
        FisherSoftmax(4, 1)


@pytest.mark.parametrize(
    ("training_class", "option", "value"),
    [
        (PaperAdam, "learning_rate", 0),
        (PaperAdam, "weight_decay", -0.1),
        (PaperAdam, "weight_decay", False),
        (PaperAdam, "epochs", 0),
        (PaperAdam, "batch", 1.5),
        (PaperAdam, "seed", -1),
        (Converged, "penalty", 0),
        (Converged, "tolerance", math.nan),
        (Converged, "steps", 0),
    ],
)
def test_invalid_training_raises(training_class, option, value):
    with pytest.raises(ValueError, match=f"{option} of {training_class.__name__} must be"):
        training_class(**{option: value})


def test_weight_decay_may_be_zero():
    assert PaperAdam(weight_decay=0).start(2, 2).weights.shape == (2, 2)


def test_training_stops_when_its_steps_are_used_up():
    X, y = examples()
    trainer = Converged(steps=1).start(DIM, CLASSES)
    trainer.learn(X, y.astype(int))
    assert np.linalg.norm(trainer._at(trainer.weights).gradient) > 1e-6


def test_descriptions_are_json_values():
    assert dataclasses.replace(MODELS[2], cap=False).training == PaperAdam(batch=16)
    assert Softmax(4, 3) == Softmax(4, 3, training=Converged())
    assert hash(Softmax(4, 3)) != hash(FisherSoftmax(4, 2))
