"""Online-to-batch conversion: the predictors of a run, used on new data."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from qufur import (
    ConfidenceSet,
    KernelRidge,
    Learner,
    QuFUR,
    Ridge,
    Softmax,
    Uniform,
    hypotheses,
    online_to_batch,
    run,
    streams,
)

STREAM = streams.HiddenDomains([60, 40], [3, 2], seed=2)
NEW = np.random.default_rng(5).normal(size=(7, 5)) / 3
MODELS = [
    Ridge(5, intercept=True, label_range=(-2, 3)),
    KernelRidge(RBF(1.0), regularization=0.2),
    ConfidenceSet(hypotheses.LinearBall(5), radius=0.1),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_mixture_prediction_is_the_average_of_all_steps(model):
    learner, mixture = Learner(model, QuFUR(0.7), seed=3), None
    sums = np.zeros(len(NEW))
    chunk = next(STREAM.chunks(1000))
    for x, y in zip(chunk.X, chunk.y, strict=True):
        sums += learner.predict(NEW)
        answer = learner.ask(x)
        if answer.query:
            learner.tell(answer.id, y)
    mixture = online_to_batch(Learner(model, QuFUR(0.7), seed=3), STREAM)
    np.testing.assert_allclose(mixture.predict(NEW), sums / 100, atol=1e-9)
    assert mixture.weights.sum() == pytest.approx(1)
    assert 5 < len(mixture.predictors) < 100


def test_online_to_batch_leaves_the_learner_as_run_does():
    one, other = (Learner(Ridge(5), QuFUR(1.0), seed=1) for _ in range(2))
    online_to_batch(one, STREAM)
    run(other, STREAM)
    np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), atol=1e-9)
    assert one.spent == other.spent


def test_mixture_draw_follows_the_weights():
    mixture = online_to_batch(Learner(Ridge(5), QuFUR(1.0), seed=1), STREAM)
    rng = np.random.default_rng(0)
    drawn = [mixture.predictors.index(mixture.draw(rng)) for _ in range(4000)]
    counts = np.bincount(drawn, minlength=len(mixture.weights))
    spread = np.sqrt(4000 * mixture.weights * (1 - mixture.weights))
    # Five standard deviations for each of about 40 counts: a random seed would fail once in 10,000.
    assert (np.abs(counts - 4000 * mixture.weights) < 5 * spread + 1).all()


def test_mixture_average_is_no_worse_than_a_draw():
    mixture = online_to_batch(Learner(Ridge(5), QuFUR(1.0), seed=1), STREAM)
    y = np.random.default_rng(1).normal(size=len(NEW))
    assert ((mixture.predict(NEW) - y) ** 2).mean() <= mixture.loss(NEW, y)


def test_excess_risk_is_regret_per_step_on_iid_data():
    """Theorem "otb": both are means over 60 seeds of nearly the same quantity."""
    risks, regrets = [], []
    for seed in range(60):
        stream = streams.HiddenDomains([150], [4], seed=seed, noise=0.3)
        trace = run(Learner(Ridge(4), Uniform(0.3), seed=seed + 1000), stream)
        mixture = online_to_batch(Learner(Ridge(4), Uniform(0.3), seed=seed + 1000), stream)
        X = np.random.default_rng([seed, 7]).normal(size=(400, 4))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        risks.append(mixture.loss(X, X @ stream.theta))
        regrets.append(trace.total_regret / 150)
    difference = np.subtract(risks, regrets)
    # Three standard errors: random seeds would fail once in 370.
    assert abs(difference.mean()) < 3 * difference.std() / np.sqrt(60)


def test_mixture_loss_of_classes_is_averaged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = (X[:, 0] > 0).astype(float)
    mixture = online_to_batch(Learner(Softmax(5, 2), QuFUR(0.5), seed=1), streams.Arrays(X, y))
    assert 0 < mixture.loss(X, y) < 0.5


def test_trace_cost_is_regret_times_ratio_plus_queries():
    trace = run(Learner(Ridge(5), QuFUR(2.0), seed=1), STREAM)
    assert trace.cost(3.0) == pytest.approx(3 * trace.total_regret + trace.queries)
    with pytest.raises(ValueError, match="cost_ratio of Trace must be a finite number above 0"):
        trace.cost(0)


def test_mixture_rejects_inputs_of_another_dimension():
    mixture = online_to_batch(Learner(Ridge(5), QuFUR(2.0)), STREAM)
    with pytest.raises(ValueError, match="X of Mixture must be of 5 columns"):
        mixture.predict(np.ones((2, 4)))
