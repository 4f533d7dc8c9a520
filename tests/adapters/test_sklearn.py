"""Tests of the scikit-learn estimators with linear models: its checks, identities and unread labels."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as Batch
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.refusals import refusal

from qufur import Converged, Learner, Paced, QuFUR, Ridge, Softmax, run, streams
from qufur.adapters.sklearn import QuFURClassifier, QuFURRegressor
from qufur.adapters.sklearn.estimator import seed_of

T, DIM = 240, 5
OPTIONS = [{"budget": 40}, {"budget": 0.2}, {"alpha": 0.5}, {"alpha": 3.0, "budget": 30}, {"budget": None}]


def regression(horizon=T, mean=1000.0, seed=10):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(horizon, DIM)) * [1, 10, 0.1, 3, 1] + [0, 50, 0, -3, 7]
    X[: horizon // 2, 3] = 7.0
    y = X @ [1.0, -0.2, 4.0, 0.5, 0.0] + mean + 0.1 * rng.normal(size=horizon)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def classification(horizon=T, seed=11):
    X, _ = regression(horizon, seed=seed)
    scores = StandardScaler().fit_transform(X) @ np.random.default_rng(12).normal(size=(DIM, 3))
    return X, np.array(["ash", "oak", "elm"])[scores.argmax(axis=1)]


DATA = {QuFURRegressor: regression, QuFURClassifier: classification}
both = pytest.mark.parametrize("cls", [QuFURRegressor, QuFURClassifier], ids=lambda cls: cls.__name__)
options = pytest.mark.parametrize("options", OPTIONS, ids=str)


@parametrize_with_checks(
    [
        QuFURRegressor(model=Ridge),
        QuFURRegressor(model=Ridge, budget=0.5, random_state=1),
        QuFURClassifier(model=Softmax),
        QuFURClassifier(model=Softmax, budget=0.5, random_state=1),
    ]
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("regularization", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("label_range", [None, (-1e9, 3e9)])
def test_regressor_with_every_label_equals_ridge_of_scikit_learn(regularization, intercept, label_range):
    X, y = regression()
    ours = QuFURRegressor(
        model=Ridge, regularization=regularization, intercept=intercept, label_range=label_range, scale=False
    )
    theirs = Batch(alpha=regularization, fit_intercept=intercept).fit(X, y)
    if label_range and not intercept:
        y = y + sum(label_range) / 2  # predictions shrink to the centre of the range
    off = sum(label_range) / 2 if label_range and not intercept else 0.0
    np.testing.assert_allclose(ours.fit(X, y).predict(X) - off, theirs.predict(X), rtol=1e-8)


@options
def test_regressor_predicts_as_ridge_on_the_queried_labels(options):
    X, y = regression()
    ours = QuFURRegressor(model=Ridge, random_state=3, **options).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    theirs = Batch(alpha=1.0).fit(Z[ours.queried_], y[ours.queried_])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(Z), rtol=1e-10)


@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_regressor_predicts_few_labels_far_from_zero(mean):
    X, y = regression(mean=mean)
    model = QuFURRegressor(model=Ridge, budget=20, random_state=3).fit(X, y)
    assert model.n_queries_ == 20
    assert model.score(X, y) > 0.95


def test_fit_of_the_regressor_is_a_run():
    X, y = regression()
    ours = QuFURRegressor(
        model=Ridge, budget=40, floor=0.02, label_range=(900, 1100), regularization=0.5, random_state=4
    )
    ours.fit(X, y)
    options = {"label_range": (900, 1100), "regularization": 0.5}
    model = Ridge(DIM, intercept=True, intercept_penalty=1.0, **options)
    learner, Z = Learner(model, Paced(40, T, floor=0.02), seed=4), StandardScaler().fit_transform(X)
    trace = run(learner, streams.Arrays(Z, y))
    assert np.array_equal(ours.queried_, np.flatnonzero(trace.query))
    assert np.array_equal(ours.learner_.predict(Z), learner.predict(Z))
    assert ours.learner_.report() == learner.report()


def test_fit_of_the_classifier_is_a_run():
    X, y = classification()
    ours = QuFURClassifier(
        model=Softmax, alpha=0.4, budget=50, regularization=2.0, penalty=0.01, random_state=4
    ).fit(X, y)
    Z = np.column_stack([StandardScaler().fit_transform(X), np.ones(T)])
    codes = np.unique(y, return_inverse=True)[1].astype(float)
    model = Softmax(DIM + 1, 3, regularization=2.0, training=Converged(penalty=0.01))
    learner = Learner(model, QuFUR(0.4, budget=50), seed=4)
    trace = run(learner, streams.Arrays(Z, codes))
    assert np.array_equal(ours.queried_, np.flatnonzero(trace.query))
    assert np.array_equal(ours.predict_proba(X), learner.state.probabilities(Z))


@both
@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
def test_unqueried_labels_are_never_read(cls, options):
    X, y = DATA[cls]()
    model = cls(model=cls.linear, random_state=5, **options).fit(X, y)
    others = np.setdiff1d(np.arange(T), model.queried_)
    assert 0 < model.n_queries_ == T - len(others) < T
    y = y.copy()
    y[others] = y[others][::-1] if cls is QuFURClassifier else 1e6 - y[others]
    again = clone(model).fit(X, y)
    assert np.array_equal(again.queried_, model.queried_)
    assert np.array_equal(again.predict(X), model.predict(X))


@both
@pytest.mark.parametrize("budget", [1, 7, 240, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("alpha", [None, 0.3, 100.0])
def test_budget_is_never_exceeded(cls, budget, alpha):
    X, y = DATA[cls]()
    model = cls(model=cls.linear, budget=budget, alpha=alpha, random_state=6).fit(X, y)
    allowed = budget if isinstance(budget, int) else max(1, round(budget * T))
    assert model.n_queries_ == len(model.queried_) <= allowed
    if alpha is None:
        assert model.n_queries_ == allowed
    more = {"classes": np.unique(y)} if cls is QuFURClassifier else {}
    model.partial_fit(X, y, **more)
    model.query(100 * X, **more)
    assert model.n_queries_ == len(model.queried_) <= allowed


def test_budget_of_one_differs_from_one_point_zero():
    X, y = regression()
    assert [QuFURRegressor(model=Ridge, budget=budget).fit(X, y).n_queries_ for budget in (1, 1.0)] == [1, T]


def test_rate_budget_holds_in_every_window():
    X, y = regression(3000)
    model = QuFURRegressor(model=Ridge, budget=0.05, random_state=7)
    bought = [model.partial_fit(X[i : i + 100], y[i : i + 100]).n_queries_ for i in range(0, 3000, 100)]
    assert max(b - a for a, b in pairwise(bought)) <= 0.05 * 100 + 82
    assert 0.05 * 3000 * 0.8 < bought[-1] <= 0.05 * 3000 + 82


def assert_same(a, b, X):
    """Assert equal predictions, to rounding and to the tolerance of the classifier's training."""
    name, tolerance = ("predict_proba", 1e-6) if hasattr(a, "classes_") else ("predict", 1e-9)
    np.testing.assert_allclose(getattr(a, name)(X), getattr(b, name)(X), rtol=tolerance, atol=tolerance)


@both
@pytest.mark.parametrize("options", [{}, {"alpha": 0.5, "budget": 60}], ids=str)
def test_partial_fit_continues_the_stream(cls, options):
    X, y = DATA[cls]()
    whole = cls(model=cls.linear, scale=False, random_state=8, **options).fit(X, y)
    parts = cls(model=cls.linear, scale=False, random_state=8, **options)
    first = {"classes": np.unique(y)} if cls is QuFURClassifier else {}
    parts.partial_fit(X[:50], y[:50], **first).partial_fit(X[50:], y[50:])
    assert np.array_equal(parts.queried_, whole.queried_)
    assert_same(parts, whole, X)


@both
def test_query_and_teach_make_partial_fit(cls):
    X, y = DATA[cls]()
    first = {"classes": np.unique(y)} if cls is QuFURClassifier else {}
    fitted = cls(model=cls.linear, alpha=0.5, random_state=9).partial_fit(X, y, **first)
    queried = cls(model=cls.linear, alpha=0.5, random_state=9)
    mask = queried.query(X, **first)
    assert mask.dtype == bool
    assert np.array_equal(np.flatnonzero(mask), queried.pending_)
    assert np.array_equal(queried.pending_, fitted.queried_)
    late, soon = queried.pending_[:5], queried.pending_[5:]
    queried.teach(y[soon], soon)
    assert np.array_equal(queried.pending_, late)
    assert queried.teach(y[mask][:5]) is queried
    assert len(queried.pending_) == 0
    assert np.array_equal(queried.queried_, fitted.queried_)
    assert_same(queried, fitted, X)


def test_rows_are_numbered_through():
    X, y = regression()
    model = QuFURRegressor(model=Ridge, alpha=1.0, random_state=1).fit(X[:100], y[:100])
    before = model.n_queries_
    mask = model.query(X[100:])
    assert np.array_equal(model.pending_, 100 + np.flatnonzero(mask))
    assert model.n_queries_ == before + mask.sum() == len(model.queried_)


def test_prediction_before_any_label_is_the_middle_of_the_range():
    X, _ = regression()
    for label_range, middle in ((None, 0.0), ((1, 5), 3.0)):
        model = QuFURRegressor(model=Ridge, label_range=label_range)
        assert model.query(X).all()
        mean, std = model.predict(X, return_std=True)
        assert np.array_equal(mean, np.full(T, middle))
        assert np.isnan(std).all()


def test_standard_deviation_equals_that_of_a_gaussian_process():
    X, y = regression(mean=0.0)
    model = QuFURRegressor(
        model=Ridge,
        budget=60,
        regularization=0.5,
        intercept=False,
        scale=False,
        label_range=(-90, 90),
        random_state=2,
    ).fit(X, y)
    noise = model.learner_.state.fit().noise
    assert 0.07 < noise < 0.14
    kernel = DotProduct(sigma_0=0.0, sigma_0_bounds="fixed") * (noise**2 / 0.5)
    process = GaussianProcessRegressor(kernel, alpha=noise**2, optimizer=None)
    process.fit(X[model.queried_], y[model.queried_])
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, process.predict(X), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(std, process.predict(X, return_std=True)[1], rtol=1e-3)


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_standard_deviation_has_a_free_intercept_and_the_users_units(unit):
    X, y = regression()
    model = QuFURRegressor(model=Ridge, budget=60, regularization=0.5, random_state=2).fit(X, unit * y)
    rows = np.column_stack([StandardScaler().fit_transform(X), np.ones(T)])
    bought = rows[model.queried_]
    inverse = np.linalg.inv(bought.T @ bought + 0.5 * np.diag([1.0] * DIM + [0.0]))
    std = model.predict(X, return_std=True)[1]
    expected = model.learner_.state.fit().noise * np.sqrt(np.einsum("ij,jk,ik->i", rows, inverse, rows))
    np.testing.assert_allclose(std, expected, rtol=1e-7)
    assert 0.07 < model.learner_.state.fit().noise / unit < 0.14


@pytest.mark.parametrize("mean", [10.0**power for power in range(9)])
def test_standard_deviation_is_right_or_nan(mean):
    X, y = regression(mean=mean)
    model = QuFURRegressor(model=Ridge, budget=100, random_state=2).fit(X, y)
    ranged = clone(model).set_params(label_range=(mean - 50, mean + 50)).fit(X, y)
    expected = ranged.predict(X, return_std=True)[1]
    std = model.predict(X, return_std=True)[1]
    assert np.isnan(std).all() == (mean > 5e3)
    if mean < 5e3:
        np.testing.assert_allclose(std, expected, rtol=0.1)
    assert 0.08 < ranged.learner_.state.fit().noise < 0.12


def test_label_range_clips_predictions():
    X, y = regression()
    model = QuFURRegressor(model=Ridge, label_range=(990.0, 991.0)).fit(X, y)
    assert model.predict(X).min() == 990.0
    assert model.predict(X).max() == 991.0
    assert QuFURRegressor(model=Ridge).fit(X, y).predict(X).max() > 991.0


def test_classifier_with_every_label_equals_logistic_regression():
    X, y = classification()
    ours = QuFURClassifier(model=Softmax, penalty=0.02, scale=False, intercept=False).fit(X, y)
    theirs = LogisticRegression(C=1 / (0.02 * T), fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert ours.classes_.tolist() == ["ash", "elm", "oak"]
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("names", [[3, -1, 7], ["b", "a", "c"], [2.0, 0.0, 1.0], [True, False]])
def test_classes_have_any_names(names):
    X, _ = classification()
    y = np.array(names)[np.random.default_rng(0).integers(len(names), size=T)]
    model = QuFURClassifier(model=Softmax, budget=30, random_state=0).fit(X, y)
    assert model.classes_.tolist() == sorted(names)
    assert model.predict(X).dtype == y.dtype
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_set_params_does_not_change_a_fitted_model():
    X, y = classification()
    model = QuFURClassifier(model=Softmax).fit(X, y)
    before = model.predict_proba(X)
    assert np.array_equal(model.set_params(intercept=False, scale=False).predict_proba(X), before)


@both
def test_unpickled_estimator_continues_identically(cls):
    X, y = DATA[cls]()
    model = cls(model=cls.linear, alpha=0.5, random_state=0).fit(X[:100], y[:100])
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.partial_fit(X[100:], y[100:])
    assert np.array_equal(again.queried_, model.queried_)
    assert np.array_equal(again.predict(X), model.predict(X))


def test_clones_are_unfitted():
    X, y = regression()
    model = QuFURRegressor(model=Ridge, budget=5, label_range=(0, 2000), random_state=0).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    with pytest.raises(NotFittedError):
        copy.teach([1.0])


@both
def test_estimators_work_in_pipelines_and_searches(cls):
    X, y = DATA[cls]()
    line = make_pipeline(PolynomialFeatures(2, include_bias=False), cls(model=cls.linear, random_state=0))
    search = GridSearchCV(line, {f"{cls.__name__.lower()}__budget": [0.05, 0.5]}, cv=3).fit(X, y)
    assert search.best_params_ == {f"{cls.__name__.lower()}__budget": 0.5}
    assert cross_val_score(cls(model=cls.linear, budget=0.5, random_state=0), X, y, cv=3).min() > 0.7


@both
def test_data_frame_columns_become_feature_names(cls):
    pandas = pytest.importorskip("pandas")
    X, y = DATA[cls]()
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = cls(model=cls.linear, budget=20, random_state=0).fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == list("abcde")
    assert np.array_equal(
        model.predict(frame), cls(model=cls.linear, budget=20, random_state=0).fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])


def test_random_state_accepts_ints_generators_and_random_states():
    X, y = regression()
    states = [4, np.random.default_rng(4), np.random.RandomState(4), np.random.RandomState(4), None, None]
    a, b, c, d, e, f = (
        QuFURRegressor(model=Ridge, budget=30, random_state=s).fit(X, y).queried_.tolist() for s in states
    )
    assert a == b != c == d
    assert e != f  # equal with probability below 1e-9


WRONG = {
    "alpha": [0, -1.0, "paced"],
    "regularization": [0.0, None],
    "intercept": [1, None],
    "scale": ["yes"],
    "floor": [-0.1, 1.0],
    "random_state": [-1, "seed", 1.5],
    "label_range": [(1, 1), 5],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in WRONG for value in WRONG[name]])
def test_invalid_parameters_raise_in_fit(name, value):
    X, y = regression()
    model = QuFURRegressor(**{"model": Ridge, "budget": 30, name: value})
    assert refusal(lambda: model.fit(X, y)).startswith(f"{name} of ")


def test_error_messages_name_a_remedy():
    X, y = regression()
    message = refusal(lambda: QuFURRegressor(model=Ridge, budget=30).partial_fit(X, y))
    assert message == (
        "budget of QuFURRegressor must be a share such as 0.05 when the number of rows is unknown,"
        " got 30. fit knows their number; partial_fit and query do not."
    )
    message = refusal(lambda: QuFURRegressor(model=Ridge, budget=0.1, alpha=1.0).partial_fit(X, y))
    assert "must be a count when alpha is given and the number of rows is unknown, got 0.1." in message
    model = QuFURRegressor(model=Ridge)
    model.query(X[:3])
    message = refusal(lambda: model.teach([1.0, 2.0]))
    assert message == "y of QuFURRegressor must be 3 labels, one for each row, got shape (2,)."
    assert "outstanding" in refusal(lambda: model.teach([1.0], [17]))
    assert "finite" in refusal(lambda: model.teach([np.nan, 1.0, 2.0]))
    assert len(model.pending_) == 3


def test_invalid_classes_raise():
    X, y = classification()
    model = QuFURClassifier(model=Softmax)
    for call in (model.query, lambda X: model.partial_fit(X, y)):
        assert "given in the first call" in refusal(lambda call=call: call(X))
    assert "two classes, got 1 class." in refusal(lambda: model.fit(X, np.full(T, "oak")))
    model.fit(X, y)
    assert "those of the first call" in refusal(lambda: model.partial_fit(X, y, classes=["ash", "yew"]))
    assert "unseen" in refusal(lambda: model.partial_fit(X, np.full(T, "yew")))


def test_seed_of_converts_random_states():
    assert seed_of(np.int64(3), "x") == 3
