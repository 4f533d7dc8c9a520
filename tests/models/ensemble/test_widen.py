"""Ensembles with added columns equal ensembles that had these constant columns from the start."""

import copy

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge
from tests.same import same

from qufur import Experts, Learner, QuFUR, Refit
from qufur.models.ensemble import experts
from qufur.models.ensemble.ridge_experts import RandomFeatures
from qufur.snapshot import encode

pytestmark = pytest.mark.usefixtures("few_trees")
CONSTANTS = [1e6, -3.0]


def data(rows, dim, *, begin):
    """Return inputs of which the last two columns begin to vary at a row, and labels."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(rows, dim + 2)) * 10.0 ** np.arange(dim + 2)
    X[:, dim:] += CONSTANTS
    X[:begin, dim:] = CONSTANTS
    return X, X[:, 0] + np.sin(X[:, -1])


def ask_and_tell(learner, X, y):
    """Ask and tell, and leave the labels of every third query outstanding."""
    first = learner.next_id
    answers = [learner.ask(x) for x in X]
    for answer in answers:
        if answer.query and answer.id % 3:
            learner.tell(answer.id, y[answer.id - first])
    return answers


def assert_same(one, other):
    assert [x.query for x in one] == [x.query for x in other]
    np.testing.assert_allclose([x[1:4] for x in one], [x[1:4] for x in other], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("before", [0, 1, 30, 90])
def test_widened_state_equals_one_with_the_columns_from_the_start(before):
    X, y = data(120, 3, begin=before)
    early, late = (Learner(Refit(SklearnRidge(), dim=3), QuFUR(2.0)) for _ in range(2))
    early.widen(CONSTANTS)
    assert_same(ask_and_tell(early, X[:before], y), ask_and_tell(late, X[:before, :3], y))
    late.widen(CONSTANTS)
    if before:
        M = early.uncertainty(X[:before]), late.uncertainty(X[:before])
        np.testing.assert_allclose(*M, rtol=1e-9)
    (header, arrays), (other, others) = encode(early), encode(late)
    assert all(header[part] == other[part] for part in ("model", "dim", "state", "rng", "ids"))
    for name, array in others.items():
        np.testing.assert_allclose(array, arrays[name], rtol=1e-9, atol=1e-9, err_msg=name)
    for learner in (early, late):
        for id in learner.outstanding[:4]:
            learner.retract(id) if id % 2 else learner.tell(id, y[id])
    assert_same(ask_and_tell(early, X[before:], y), ask_and_tell(late, X[before:], y))


def test_columns_added_one_by_one_equal_columns_added_together():
    X, y = data(40, 2, begin=20)
    together, one_by_one = (Learner(Experts(2), QuFUR(2.0)) for _ in range(2))
    for learner in (together, one_by_one):
        learner.learn(X[:20, :2], y[:20])
    together.widen(CONSTANTS)
    for constant in CONSTANTS:
        one_by_one.widen([constant])
    assert same(together, one_by_one)
    assert_same(ask_and_tell(together, X[20:], y[20:]), ask_and_tell(one_by_one, X[20:], y[20:]))


def test_random_features_of_existing_columns_do_not_change():
    def features(added_columns):
        random_features = RandomFeatures(2, 50, 1.0, np.random.default_rng(0))
        random_features.extend([np.random.default_rng(column) for column in range(2, 2 + added_columns)])
        return random_features

    X = np.random.default_rng(1).normal(size=(5, 2))
    wide = np.column_stack([X, np.zeros((5, 2))])
    np.testing.assert_array_equal(features(0)(X), features(2)(wide))
    one, other = features(1)(wide[:, :3] + 1), features(1)(wide[:, :3] + [1, 1, 0])
    assert (abs(one - other) > 0.01).any()  # the added column has an effect


class CountingRidge(SklearnRidge):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingRidge.fits += 1
        return super().fit(X, y, sample_weight)


def test_widen_does_not_refit_estimators():
    X, y = data(30, 2, begin=25)
    learner = Learner(Refit(CountingRidge()), QuFUR(2.0))
    learner.learn(X[:20, :2], y[:20])
    predictions, before = learner.predict(X[:, :2]), CountingRidge.fits
    learner.widen(CONSTANTS[:1])
    learner.widen(CONSTANTS[1:])
    np.testing.assert_array_equal(learner.predict(X), predictions)
    assert CountingRidge.fits == before
    learner.learn(X[20:], y[20:])
    predictions = learner.predict(X)
    X[:, -1] += 1e5
    assert (learner.predict(X) != predictions).any()  # estimators get the column once it varies


def test_widened_learner_continues_bit_for_bit_after_loading_and_copies_are_independent(tmp_path):
    X, y = data(30, 2, begin=15)
    learner = Learner(Experts(), QuFUR(2.0))
    ask_and_tell(learner, X[:15, :2], y)
    narrow = copy.deepcopy(learner)
    learner.widen(CONSTANTS)
    assert (learner.dim, learner.model.dim, narrow.dim) == (4, None, 2)
    learner.save(tmp_path / "wide")
    again = Learner.load(tmp_path / "wide")
    assert ask_and_tell(again, X[15:], y[15:]) == ask_and_tell(learner, X[15:], y[15:])
    assert same(again, learner)
    assert narrow.ask(X[0, :2]).id == 15


def test_expert_names_stay_when_columns_are_added(monkeypatch):
    monkeypatch.setattr(experts, "MAX_COLUMNS", 3)
    X, y = data(30, 2, begin=0)
    learner = Learner(Experts(2), QuFUR(2.0))
    ask_and_tell(learner, X[:20, :2], y)
    names = learner.state.schedule.names
    learner.widen(CONSTANTS)
    ask_and_tell(learner, X[20:], y[20:])
    assert learner.state.schedule.names == names


def test_added_column_is_learned_from():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    learner = Learner(Experts(2), QuFUR(2.0))
    learner.learn(X[:20, :2], np.zeros(20))
    learner.widen([0.0])
    learner.learn(X[20:], 10 * X[20:, 2])
    high, low = learner.predict([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    assert high - low > 10
