"""Files that were saved with other experts: weights follow the names."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from qufur import Experts, Learner, Steady, snapshot
from qufur.models.ensemble.expert import EstimatorExpert
from qufur.models.ensemble.fits import ExpertSet

X = np.random.default_rng(3).normal(size=(80, 2))
Y = np.sin(3 * X[:, 0])
CLASSES = {"numbers": None, "classes": (0, 1)}


@pytest.fixture(params=CLASSES)
def learner(request):
    """Return a learner with labels and outstanding queries."""
    classes = CLASSES[request.param]
    y = Y if classes is None else (Y > 0).astype(int)
    learner = Learner(Experts(2, classes=classes), Steady(0.5), seed=1)
    for x, label in zip(X, y, strict=True):
        answer = learner.ask(x)
        if answer.query and learner.spent < 26:
            learner.tell(answer.id, label)
    assert len(learner.outstanding) > 3
    return learner


def with_experts(monkeypatch, change):
    """Replace the list of experts by what `change` returns for its quick and slow experts."""
    build = Experts.build_experts

    def build_experts(self, dim, further):
        experts = build(self, dim, further)
        return ExpertSet(*change(self, list(experts.quick), list(experts.slow)), self.prior_output(), dim)

    monkeypatch.setattr(Experts, "build_experts", build_experts)


def neighbors(model):
    estimator = KNeighborsRegressor(5) if model.classes is None else KNeighborsClassifier(5)
    return EstimatorExpert(estimator, min_labels=5)


def reloaded(learner):
    return snapshot.decode(Learner, snapshot.encode(learner))


@pytest.mark.parametrize("first", [True, False])
def test_new_expert_starts_without_weight_and_changes_no_prediction(monkeypatch, learner, first):
    def add(model, quick, slow):
        return quick, [neighbors(model), *slow] if first else [*slow, neighbors(model)]

    before, reports = learner.state.outputs(X), [learner.report()]
    old = dict(zip(learner.state.schedule.names, learner.state.schedule.aggregation.weights, strict=True))
    with_experts(monkeypatch, add)
    after = reloaded(learner)
    schedule = after.state.schedule
    new = dict(zip(schedule.names, schedule.aggregation.weights, strict=True))
    assert len(new) == len(old) + 1
    assert {name: new[name] for name in old} == pytest.approx(old)
    assert sum(weight for name, weight in new.items() if name not in old) == 0
    np.testing.assert_allclose(after.state.outputs(X), before, rtol=1e-12)
    reports.append(after.report())
    assert reports[0].loss == reports[1].loss
    first, second = (dict(zip(r.names, r.losses, strict=True)) for r in (r.ensemble_report for r in reports))
    assert {name: second[name] for name in first} == first
    for id, query in after.pending.items():
        outputs = query.expert_outputs
        added = schedule.names.index(next(name for name in new if name not in old))
        np.testing.assert_array_equal(outputs[added], outputs[-1])
        np.testing.assert_array_equal(np.delete(outputs, added, axis=0), learner.pending[id].expert_outputs)


class KnowsTheTruth(RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.sin(3 * X[:, 0])


def test_new_expert_that_predicts_better_gains_weight(monkeypatch):
    learner = Learner(Experts(2), Steady(0.5), seed=1)
    learner.learn(X[:10], Y[:10])
    with_experts(monkeypatch, lambda model, quick, slow: (quick, [EstimatorExpert(KnowsTheTruth()), *slow]))
    after = reloaded(learner)
    for x, y in zip(X, Y, strict=True):
        answer = after.ask(x)
        if answer.query:
            after.tell(answer.id, y)
    weights = dict(zip(after.state.schedule.names, after.state.schedule.aggregation.weights, strict=True))
    assert weights["KnowsTheTruth"] == max(weights.values()) > 0.5


def test_weight_of_a_removed_expert_goes_to_the_others(monkeypatch, learner):
    names = list(learner.state.schedule.names)
    old = dict(zip(names, learner.state.schedule.aggregation.weights.tolist(), strict=True))
    with_experts(monkeypatch, lambda model, quick, slow: (quick, slow[1:]))
    after = reloaded(learner)
    new = dict(zip(after.state.schedule.names, after.state.schedule.aggregation.weights, strict=True))
    assert len(new) < len(old)
    total = sum(old[name] for name in new)
    assert new == pytest.approx({name: old[name] / total for name in new})
    assert {query.expert_outputs.shape[0] for query in after.pending.values()} == {len(new) + 1}


def test_file_of_the_same_experts_loads_bit_for_bit(learner):
    first, second = (snapshot.encode(each) for each in (learner, reloaded(learner)))
    assert first[0] == second[0]
    for name, array in first[1].items():
        np.testing.assert_array_equal(array, second[1][name])
