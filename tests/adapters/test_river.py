"""Tests of the river adapter with linear models: equality with a learner over vectors, and river's checks."""

import itertools
import re
import sys

import numpy as np
import pytest
from river import checks, compose, datasets, dummy, evaluate, metrics, preprocessing, stats, stream
from tests.refusals import refusal
from tests.soak import SOAK

from qufur import DomainOracle, Learner, Paced, QuFUR, Ridge, Softmax
from qufur.adapters.river import QuFURClassifier, QuFURRegressor
from qufur.errors import command_for
from qufur.snapshot import encode

NAMES = list("abcd")
FEW_ROWS = 50
LINEAR = {QuFURRegressor: Ridge, QuFURClassifier: Softmax}


def rows(count, *, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4)) / 2
    return X, X @ [0.5, -0.3, 0.2, 0.1] + 0.1 * rng.normal(size=count)


def as_dict(x):
    return dict(zip(NAMES, x.tolist(), strict=True))


def state_of(model):
    header, tensors = encode(model.learner)
    return str((header, {name: array.tolist() for name, array in tensors.items()}, model._dicts.columns))


# The checks of river


MODELS = [
    QuFURRegressor(model=Ridge),
    QuFURRegressor(model=Ridge, alpha=2.0, label_range=(30, 50)),
    QuFURClassifier(model=Softmax),
]
CHECKS = [
    pytest.param(model, index, id=f"{type(model).__name__}-{check.__name__}-{index}")
    for model in MODELS
    for index, check in enumerate(checks.yield_checks(model))
    if SOAK or model is MODELS[0] or check.__name__ != "check_bounded_memory_growth"  # the slowest
]


@pytest.fixture
def few_rows(monkeypatch):
    """Limit the rows of the checks of river, except those of memory."""
    original = checks._yield_datasets

    def limited(model, scale=1):
        few = None if SOAK or scale > 1 else FEW_ROWS
        return (itertools.islice(rows, few) for rows in original(model, scale))

    monkeypatch.setattr(checks, "_yield_datasets", limited)


@pytest.mark.parametrize(("model", "index"), CHECKS)
def test_estimators_pass_the_checks_of_river(model, index, few_rows):
    check = next(itertools.islice(checks.yield_checks(model), index, None))
    check(model.clone())


# Equality with a learner


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("label_range", [None, (-0.4, 1.0)])
def test_regressor_is_the_learner_fed_with_vectors(intercept, label_range):
    X, y = rows(150)
    options = {"regularization": 0.5, "intercept": intercept}
    model = QuFURRegressor(model=Ridge, alpha=2.0, label_range=label_range, seed=3, **options)
    range_options = {
        "clip": label_range is not None,
        "label_range": label_range or (-1, 1),
        "intercept_penalty": 1.0,
    }
    ridge = Ridge(4, **range_options, **options)
    learner = Learner(ridge, QuFUR(2.0), seed=3)
    late = []
    for x, label in zip(X, y, strict=True):
        answer = learner.ask(x)
        assert model.predict_one(as_dict(x)) == pytest.approx(answer.prediction, abs=1e-10)
        assert model.query_one(as_dict(x)) is answer.query
        late += [(answer.id, as_dict(x), label)] if answer.query else []
        if len(late) > 5:
            id, *example = late.pop(2)
            learner.tell(id, example[1])
            model.learn_one(*example)
    assert model.learner.outstanding == learner.outstanding
    assert len(late) == 5
    assert model.learner.spent == learner.spent


def test_classifier_is_the_learner_fed_with_vectors():
    X, y = rows(80)
    labels = ["high" if value > 0 else "low" for value in y]
    classes = list(dict.fromkeys(labels))
    model = QuFURClassifier(model=Softmax, alpha=2.0, regularization=0.5, seed=3)
    learner = Learner(Softmax(5, 2, regularization=0.5), QuFUR(2.0), seed=3)
    for x, label in zip(X, labels, strict=True):
        wide = np.append(1.0, x)
        answer, queried = learner.ask(wide), model.query_one(as_dict(x))
        assert queried is answer.query
        if queried:
            learner.tell(answer.id, classes.index(label))
            model.learn_one(as_dict(x), label)
        if learner.spent - len(learner.outstanding) > 3:
            assert model.predict_one(as_dict(x)) == classes[int(learner.predict(wide)[0])]
            expected = learner.state.probabilities(wide[None])[0]
            assert list(model.predict_proba_one(as_dict(x)).values()) == pytest.approx(expected, abs=1e-7)
    assert 0 < learner.spent < 80


def test_rate_budget_is_paced_by_default():
    model, learner = (
        QuFURRegressor(model=Ridge),
        Learner(Ridge(4, intercept=True, intercept_penalty=1.0), Paced(0.05)),
    )
    X, _ = rows(1000)
    assert [model.query_one(as_dict(x)) for x in X] == learner.ask_many(X).query.tolist()
    assert model.learner.spent <= 0.05 * 1000 + 1000 * 0.05 + 32


# Changing feature names


@pytest.mark.parametrize("cls", [QuFURRegressor, QuFURClassifier])
def test_new_feature_names_equal_columns_of_zeros_from_the_start(cls):
    X, y = rows(90)
    X[:30, 1:] = 0.0
    X[30:60, 3] = 0.0
    late, early = cls(model=LINEAR[cls], alpha=2.0, seed=1), cls(model=LINEAR[cls], alpha=2.0, seed=1)
    early.query_one(dict.fromkeys(NAMES, 0.0))
    late.query_one({})
    pending = []
    for x, value in zip(X, y, strict=True):
        label = float(value) if cls is QuFURRegressor else bool(value > 0)
        full = as_dict(x)
        nonzero = {name: number for name, number in full.items() if number != 0.0}
        if late.learner.spent > 10:
            predictions = (late.predict_one(nonzero), early.predict_one(full))
            assert predictions[0] == pytest.approx(predictions[1], abs=1e-9)
        queried = late.query_one(nonzero)
        assert queried == early.query_one(full)
        pending += [((nonzero, label), (full, label))] if queried else []
        if len(pending) > 3:
            for model, example in zip((late, early), pending.pop(0), strict=True):
                model.learn_one(*example)
    assert list(late._dicts.columns) == NAMES
    assert late.learner.outstanding == early.learner.outstanding


def test_order_of_dict_keys_changes_no_bit():
    X, _ = rows(50)
    model, other = QuFURRegressor(model=Ridge, alpha=2.0), QuFURRegressor(model=Ridge, alpha=2.0)
    for x in map(as_dict, X):
        model.query_one(x)
        other.query_one(dict(reversed(x.items())))
    assert state_of(model) == state_of(other)


def test_missing_feature_counts_as_0():
    X, y = rows(20)
    model = QuFURRegressor(model=Ridge)
    for x, label in zip(X, y, strict=True):
        model.learn_one(as_dict(x), label)
    assert model.predict_one({"a": 1.0}) == model.predict_one({"a": 1.0, "b": 0, "c": False, "d": 0.0})


def test_new_class_equals_class_known_from_the_start():
    X, y = rows(60)
    labels = np.digitize(y, [-0.2, 0.2])
    first, last = np.sort(labels, kind="stable"), np.argsort(labels, kind="stable")
    sorted_out, mixed = QuFURClassifier(model=Softmax), QuFURClassifier(model=Softmax)
    for x, label in zip(X[last], first.tolist(), strict=True):
        sorted_out.learn_one(as_dict(x), label)
    for x, label in zip(X, labels.tolist(), strict=True):
        mixed.learn_one(as_dict(x), label)
    for x in X[:10]:
        a, b = (model.predict_proba_one(as_dict(x)) for model in (sorted_out, mixed))
        assert a == pytest.approx(b, abs=1e-6)


@pytest.mark.parametrize("model_class", [None, Softmax])
def test_classifier_predicts_none_or_the_only_class_before_two_classes(model_class):
    model = QuFURClassifier(model=model_class)
    assert (model.predict_one({"a": 1.0}), model.predict_proba_one({"a": 1.0})) == (None, {})
    model.learn_one({"a": 1.0}, "yes")
    assert (model.predict_one({"a": -9.0}), model.predict_proba_one({})) == ("yes", {"yes": 1.0})


# Queries, labels, budget


def test_labels_without_a_query_are_free():
    X, y = rows(30)
    model, fresh = QuFURRegressor(model=Ridge, seed=5), QuFURRegressor(model=Ridge, seed=5)
    for x, label in zip(X, y, strict=True):
        model.learn_one(as_dict(x), label)
    assert model.learner.spent == 0
    assert model.learner.rng.random() == fresh.learner.rng.random()


def test_equal_inputs_are_answered_one_after_the_other():
    model, x = QuFURRegressor(model=Ridge, rule=QuFUR(50.0), intercept=False), {"a": 1.0}
    assert [model.query_one(x), model.query_one(dict(x))] == [True, True]
    model.learn_one({"a": 1}, 1.0)
    assert model.learner.outstanding == (1,)
    model.learn_one(x, 0.5)
    assert model.learner.outstanding == ()
    assert model.predict_one(x) == pytest.approx(1.5 / 3)
    model.learn_one(x, 0.5)
    assert (model.predict_one(x), model.learner.spent) == (pytest.approx(2 / 4), 2)


def test_unanswered_query_can_be_retracted():
    model, x = QuFURRegressor(model=Ridge, rule=QuFUR(50.0)), {"a": 1.0}
    model.query_one(x)
    model.retract_one(x)
    assert (model.learner.spent, model.learner.outstanding) == (0, ())
    message = refusal(lambda: model.retract_one(x))
    assert message == "x of QuFURRegressor must be an input whose label is outstanding, got {'a': 1.0}."


def test_budget_counts_pending_labels():
    model = QuFURRegressor(model=Ridge, alpha=50.0, budget=7)
    X, _ = rows(100)
    assert sum(model.query_one(as_dict(x)) for x in X) == model.learner.spent == 7


@pytest.mark.parametrize("cls", [QuFURRegressor, QuFURClassifier])
def test_predicting_changes_nothing(cls):
    model = cls(model=LINEAR[cls], alpha=2.0)
    for label in (0, 1):
        model.query_one({"a": 1.0})
        model.learn_one({"a": 1.0}, label)
    before = state_of(model)
    model.predict_one({"a": 2.0, "new": 1.0})
    if cls is QuFURClassifier:
        model.predict_proba_one({"new": 1.0})
    assert state_of(model) == before


@pytest.mark.parametrize("cls", [QuFURRegressor, QuFURClassifier])
@pytest.mark.parametrize("value", ["red", None, float("nan"), float("inf")])
def test_invalid_features_raise_and_change_nothing(cls, value):
    model = cls()
    before = state_of(model)
    x = {"b": 1.0, "a": value}
    for call in (lambda: model.query_one(x), lambda: model.learn_one(x, 1), lambda: model.predict_one(x)):
        if cls is QuFURRegressor or call.__code__.co_names[0] != "predict_one":
            assert refusal(call).startswith(
                f"x['a'] of {cls.__name__} must be a finite number, got {value!r}."
            )
    assert state_of(model) == before


def test_invalid_labels_raise_and_change_nothing():
    model = QuFURRegressor(model=Ridge)
    before = state_of(model)
    message = refusal(lambda: model.learn_one({"a": 1.0}, float("nan")))
    assert message == "y of QuFURRegressor must be finite, got nan at row 0."
    assert state_of(model) == before


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (
            {"budget": 5},
            "budget of QuFURRegressor must be a share such as 0.05 when the number of rows is unknown",
        ),
        (
            {"alpha": 1.0, "budget": 0.5},
            "budget of QuFURRegressor must be a count when alpha is given",
        ),
        ({"rule": QuFUR(1.0), "alpha": 1.0}, "budget and alpha of QuFURRegressor must be None beside a rule"),
        (
            {"rule": "greedy"},
            "rule of QuFURRegressor must be a rule that does not need the domain, got 'greedy'.",
        ),
        ({"rule": DomainOracle(durations=[9], dims=[2], budget=3)}, "rule of QuFURRegressor must be a rule"),
        ({"regularization": 0.0}, "regularization of Ridge must be"),
        ({"label_range": (1, 0)}, "label_range of Ridge must be"),
        ({"seed": -1}, "seed of Learner must be"),
    ],
)
def test_invalid_options_raise(options, start):
    assert refusal(lambda: QuFURRegressor(model=Ridge, **options)).startswith(start)


# Integration with river


def test_estimators_work_in_a_river_pipeline():
    model = preprocessing.StandardScaler() | QuFURRegressor(model=Ridge, label_range=(30, 50))
    plain = model.clone()
    metric = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    by_hand = metrics.MAE()
    for x, y in datasets.TrumpApproval():
        by_hand.update(y, plain.predict_one(x))
        plain.learn_one(x, y)
    assert metric.get() == by_hand.get() < 0.9


@pytest.mark.parametrize("cls", [QuFURRegressor, QuFURClassifier])
def test_delayed_labels_work_in_progressive_validation(cls):
    classes = cls is QuFURClassifier
    data = list((datasets.Phishing() if classes else datasets.TrumpApproval()).take(300))
    options = {} if classes else {"label_range": (30, 50)}
    model = compose.Pipeline(preprocessing.StandardScaler(), cls(model=LINEAR[cls], **options))
    twin = model.clone()
    delay = {"moment": None if classes else "ordinal_date", "delay": 20}  # examples, or days
    score = evaluate.progressive_val_score(
        data, model, metrics.Accuracy() if classes else metrics.MAE(), **delay
    )
    by_hand = metrics.Accuracy() if classes else metrics.MAE()
    predictions = {}
    for i, x, y in stream.simulate_qa(data, **delay, copy=True):
        if y is None:
            predictions[i] = twin.predict_one(x)
        else:
            if predictions[i] is not None:
                by_hand.update(y, predictions[i])
            twin.learn_one(x, y)
    assert score.get() == by_hand.get()
    simple = dummy.PriorClassifier() if classes else dummy.StatisticRegressor(stats.Mean())
    simple_score = evaluate.progressive_val_score(data, simple, type(score)(), **delay)
    assert score.is_better_than(simple_score)


def test_seed_determines_results_and_clones_start_empty():
    X, y = rows(100)
    model = QuFURRegressor(model=Ridge, alpha=0.5, seed=4)
    twins = [model.clone(), model.clone()]
    for twin in [model, *twins]:
        for x, label in zip(X, y, strict=True):
            if twin.query_one(as_dict(x)):
                twin.learn_one(as_dict(x), label)
    assert state_of(model) == state_of(twins[0]) == state_of(twins[1])
    assert state_of(model) != state_of(model.clone())


def test_import_without_river_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "qufur.adapters.river")
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match=re.escape(command_for("river"))):
        import qufur.adapters.river  # noqa: F401
