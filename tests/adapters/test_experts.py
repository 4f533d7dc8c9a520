"""Tests of the adapters with `Experts`: unscaled inputs, any labels, and the rule `Steady`."""

import pickle

import numpy as np
import pytest
from river import checks, datasets
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.refusals import refusal

from qufur import Experts, Learner, QuFUR, Ridge, Softmax, Steady, run, streams
from qufur.adapters import river, skactiveml, sklearn
from qufur.models import Refit

pytestmark = pytest.mark.usefixtures("few_trees")
RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 3)) * [1.0, 1e4, 1e-3] + [0.0, 1e6, 5.0]
Y = 5000 + 0.01 * X[:, 1] + 50 * np.sin(X[:, 0])
WORDS = np.where(X[:, 1] > 1e6, "high", "low")
ROWS = [dict(zip("abc", row, strict=True)) for row in X.tolist()]


def test_fit_is_a_run_of_experts_on_raw_rows():
    estimator = sklearn.QuFURRegressor(budget=30, random_state=1).fit(X, Y)
    learner = Learner(Experts(), Steady(30, 120), seed=1)
    trace = run(learner, streams.Arrays(X, Y))
    assert estimator.queried_.tolist() == np.flatnonzero(trace.query).tolist()
    np.testing.assert_array_equal(estimator.predict(X), learner.predict(X))
    assert estimator.score(X, Y) > 0.8


def test_classes_may_have_any_name():
    model = Experts(classes=["low", "high"])
    for given in (None, Experts(), model):
        estimator = sklearn.QuFURClassifier(model=given, budget=30, random_state=1).fit(X, WORDS)
        assert estimator.learner_.rule == Steady(30, 120)
        assert estimator.score(X, WORDS) > 0.8
        chances = estimator.predict_proba(X)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        assert (estimator.classes_[chances.argmax(axis=1)] == estimator.predict(X)).all()
    assert given is model
    assert given.classes == ("low", "high")


@pytest.mark.parametrize(
    ("cls", "model", "labels"),
    [
        (sklearn.QuFURRegressor, Refit(DecisionTreeRegressor(random_state=0)), Y),
        (
            sklearn.QuFURClassifier,
            Refit(DecisionTreeClassifier(random_state=0), classes=["high", "low"]),
            WORDS,
        ),
    ],
    ids=["numbers", "classes"],
)
def test_refit_with_any_estimator_continues_after_pickling(cls, model, labels):
    estimator = clone(cls(model=model, budget="50%", random_state=1))
    first = {"classes": ["high", "low"]} if cls is sklearn.QuFURClassifier else {}
    estimator.partial_fit(X[:60], labels[:60], **first)
    assert estimator.learner_.rule == Steady(0.5)
    again = pickle.loads(pickle.dumps(estimator))
    for part in (estimator, again):
        part.partial_fit(X[60:], labels[60:])
    assert (estimator.predict(X) == again.predict(X)).all()


def test_river_regressor_equals_learner_of_experts():
    model = river.QuFURRegressor(budget=0.3, seed=2)
    learner = Learner(Experts(), Steady(0.3), seed=2)
    for row, x, y in zip(ROWS, X, Y, strict=True):
        answer = learner.ask([0.0, *x])
        assert model.query_one(row) == answer.query
        if answer.query:
            model.learn_one(row, y)
            learner.tell(answer.id, y)
    predictions = [model.predict_one(row) for row in ROWS]
    np.testing.assert_allclose(predictions, learner.predict(np.insert(X, 0, 0.0, axis=1)), rtol=1e-12)
    assert model.learner.spent <= 0.3 * 120 + 10


def test_river_classifier_equals_learner_of_experts_with_classes():
    model = river.QuFURClassifier(model=Experts(classes=["low", "high"]), budget=0.3)
    right = []
    for row, word in zip(ROWS, WORDS, strict=True):
        right.append(model.predict_one(row) == word)
        if model.query_one(row):
            model.learn_one(row, word)
    assert np.mean(right[60:]) > 0.8
    chances = model.predict_proba_one(ROWS[0])
    assert list(chances) == ["low", "high"]
    assert sum(chances.values()) == pytest.approx(1.0)
    spent = model.learner.spent
    assert "y of QuFURClassifier must be one of ['low', 'high'], got 'middle'" in refusal(
        lambda: model.learn_one(ROWS[0], "middle")
    )
    assert model.learner.spent == spent


def test_river_classifier_adds_classes_as_they_arrive():
    words = np.where(X[:, 0] > 1, "other", WORDS)
    model, right = river.QuFURClassifier(budget=0.5), []
    late = []
    for index, (row, word) in enumerate(zip(ROWS, words.tolist(), strict=True)):
        right.append(model.predict_one(row) == word)
        if model.query_one(row):
            late.append((row, word))
        if index % 5 == 4:
            for example in late:
                model.learn_one(*example)
            late = []
    assert np.mean(right[60:]) > 0.6
    assert model.learner.rule == Steady(0.5)
    assert model.learner.outstanding == ()
    named = list(model.predict_proba_one(ROWS[0]))
    assert sorted(named) == ["high", "low", "other"]
    assert model.learner.model == Experts(classes=[0, 1, 2])
    assert len(model.learner.state.labelled) == model.learner.spent > 40
    pickled = pickle.loads(pickle.dumps(model))
    assert pickled.predict_proba_one(ROWS[7]) == model.predict_proba_one(ROWS[7])
    spent = model.learner.spent
    model.learn_one(ROWS[0], "never seen")
    assert list(model.predict_proba_one(ROWS[0])) == [*named, "never seen"]
    assert model.learner.spent == spent


def test_features_missing_in_the_first_example_are_ignored():
    model = river.QuFURRegressor(model=Experts(), budget=1.0)
    for row, y in zip(ROWS[:20], Y, strict=False):
        assert model.query_one(row)
        model.learn_one(row, y)
    more = ROWS[0] | {"new": 1e9}
    assert model.predict_one(more) == model.predict_one(ROWS[0])
    model.learn_one(more, Y[0])
    assert model.learner.dim == 4


def test_scikit_activeml_queries_are_independent_of_units():
    """Scale by powers of two, which is exact."""
    queries = []
    for unit in (1.0, 2.0**20):
        strategy = skactiveml.StreamQuFUR(budget=0.2, random_state=0)
        queried = strategy.query(X * [1.0, unit, 1.0])
        strategy.update(X * [1.0, unit, 1.0], queried)
        assert isinstance(strategy.budget_manager_, skactiveml.SteadyBudgetManager)
        queries.append(queried.tolist())
    assert queries[0] == queries[1]
    assert 10 < len(queries[0]) <= 0.2 * 120 + 10


def test_scikit_activeml_queries_the_rows_of_a_learner():
    strategy = skactiveml.StreamQuFUR(model=Experts(), budget=0.2, random_state=3)
    learner = Learner(Experts(), Steady(0.2), seed=3)
    assert strategy.query(X).tolist() == np.flatnonzero(learner.ask_many(X).query).tolist()


REFUSED = {
    "a rule": lambda: sklearn.QuFURRegressor(model=Steady(0.1)).fit(X, Y),
    "another model": lambda: sklearn.QuFURRegressor(model=Ridge(3)).fit(X, Y),
    "classes for numbers": lambda: sklearn.QuFURRegressor(model=Experts(classes=[0, 1])).fit(X, Y),
    "other classes": lambda: sklearn.QuFURClassifier(model=Experts(classes=["a", "b"])).fit(X, WORDS),
    "an object": lambda: sklearn.QuFURClassifier(model=Softmax(3, 2)).fit(X, WORDS),
    "river, a linear object": lambda: river.QuFURRegressor(model=Ridge(3)),
    "activeml, a linear object": lambda: skactiveml.StreamQuFUR(model=Ridge(3)).query(X),
    "river, no classes": lambda: river.QuFURClassifier(model=Experts()),
    "river, classes": lambda: river.QuFURRegressor(model=Experts(classes=[0, 1])),
    "activeml, classes": lambda: skactiveml.StreamQuFUR(model=Experts(classes=[0, 1])).query(X),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsuitable_model_raises(case):
    assert refusal(REFUSED[case]).startswith("model of ")


LINEAR_SETTINGS = {
    "sklearn λ": lambda: sklearn.QuFURRegressor(regularization=2.0).fit(X, Y),
    "sklearn floor": lambda: sklearn.QuFURRegressor(model=Experts(), floor=0.1, budget=9).fit(X, Y),
    "sklearn penalty": lambda: sklearn.QuFURClassifier(penalty=2.0).fit(X, WORDS),
    "river λ": lambda: river.QuFURRegressor(regularization=2.0),
    "river classes": lambda: river.QuFURClassifier(model=Experts(classes=[0, 1]), intercept=False),
    "activeml": lambda: skactiveml.StreamQuFUR(intercept=False).query(X),
}


@pytest.mark.parametrize("case", LINEAR_SETTINGS)
def test_options_of_linear_models_raise_beside_experts(case):
    message = refusal(LINEAR_SETTINGS[case])
    assert "must be omitted with experts" in message
    assert message.endswith(("model=Ridge accepts it.", "model=Softmax accepts it."))


def test_floor_is_accepted_with_alpha():
    model = sklearn.QuFURRegressor(alpha=0.01, budget=9, floor=0.1, random_state=0).fit(X, Y)
    assert model.learner_.rule == QuFUR(0.01, budget=9, floor=0.1)


def test_label_range_is_passed_to_the_experts():
    for make in (sklearn.QuFURRegressor, river.QuFURRegressor):
        model = make(label_range=(0, 1e4))
        learner = model.fit(X[:2], Y[:2]).learner_ if make is sklearn.QuFURRegressor else model.learner
        assert learner.model == Experts(label_range=(0, 1e4))


@parametrize_with_checks(
    [sklearn.QuFURRegressor(budget=0.3, random_state=0), sklearn.QuFURClassifier(budget=0.3, random_state=0)]
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [river.QuFURRegressor, river.QuFURClassifier])
def test_estimators_pass_the_checks_of_river(monkeypatch, cls):
    few = [
        *(datasets.TrumpApproval().take(40) if cls is river.QuFURRegressor else datasets.Phishing().take(15))
    ]
    monkeypatch.setattr(checks, "_yield_datasets", lambda model, scale=1: [few])
    model = cls()
    for check in checks.yield_checks(model):
        check(model.clone())


def test_label_range_beside_a_model_raises():
    wide = {"model": Experts(), "label_range": (0, 1)}
    for make in (lambda: sklearn.QuFURRegressor(**wide).fit(X, Y), lambda: river.QuFURRegressor(**wide)):
        assert "label_range of QuFURRegressor must be None beside a model" in refusal(make)
    fitted = sklearn.QuFURRegressor(model=Experts(), budget=9, random_state=0).fit(X, Y)
    assert "return_std of QuFURRegressor" in refusal(lambda: fitted.predict(X, return_std=True))
