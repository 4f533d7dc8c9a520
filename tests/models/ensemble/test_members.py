"""Each type of expert against scikit-learn, or against refits without each row."""

import warnings
from math import inf

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge

from qufur.errors import FailedFitWarning
from qufur.models.ensemble.expert import EstimatorExpert, _grow_trees, fit_forest
from qufur.models.ensemble.residual_trees import ResidualTrees
from qufur.models.ensemble.ridge_experts import (
    PENALTIES,
    ClassRidge,
    RandomFeatures,
    RidgeConfig,
    RidgeExperts,
    leave_one_out,
    solve_ridges,
)
from qufur.models.ensemble.training_set import FREE, TrainingSet
from qufur.pending import Pending, purchase_terms


def sample(count=40, dim=5, seed=0):
    rng = np.random.default_rng(seed)
    labelled = TrainingSet()
    for x in rng.normal(size=(count, dim)):
        terms = rng.uniform(0.01, 1), 0.3, bool(rng.random() < 0.5)
        labelled.add(x, float(x[0] - 2 * x[1] + 0.1 * rng.normal() + 7), terms)
    return labelled.first()


def weights_by_hand(rows, importance, half_life):
    count = len(rows.y)
    return np.array(
        [
            min(20, (mean / p) ** importance) * 0.5 ** ((count - 1 - index) / half_life)
            for index, (p, mean, _) in enumerate(rows.terms.tolist())
        ]
    )


def test_sample_weights_match_the_formula():
    rows = sample()
    for importance, half_life in ((0.0, inf), (0.5, 80), (1.0, 5)):
        expected = weights_by_hand(rows, importance, half_life)
        np.testing.assert_allclose(rows.weights(importance, half_life), expected, rtol=1e-5)
    assert purchase_terms([Pending("free")]).tolist() == [list(FREE)]


@pytest.mark.parametrize("dim", [5, 60], ids=["more rows", "more columns"])
def test_ridge_experts_are_weighted_ridge_regressions(dim):
    rows = sample(dim=dim)
    configs = [(0.5, inf, False, 0.1), (0.5, inf, False, 10.0), (1.0, 30, False, 1.0), (0.0, inf, True, 1.0)]
    family = RidgeExperts([RidgeConfig(*config) for config in configs], lambda Z: Z, "linear")
    family.reset(np.zeros(1))
    family.fit(rows, rows.X, rows.y[:, None])
    predictions = family.predict(rows.X, rows.X)[:, :, 0]
    for index, (importance, half_life, at_random, penalty) in enumerate(configs):
        weights = rows.weights(importance, half_life) * (rows.at_random if at_random else 1)
        theirs = SklearnRidge(penalty).fit(rows.X, rows.y, sample_weight=weights)
        np.testing.assert_allclose(predictions[:, index], theirs.predict(rows.X), rtol=1e-8)


def test_ridge_solutions_do_not_depend_on_chunks(monkeypatch):
    rows = sample(dim=5)
    features, weights = (lambda Z: np.hstack([Z, Z**2])), np.array([rows.weights(1.0, inf)])
    problem = rows.X, features, rows.y[:, None] + 1e9, weights, [[0.1, 1.0]]
    whole = solve_ridges(*problem)
    monkeypatch.setattr("qufur.models.ensemble.ridge_experts.CHUNK_ROWS", 7)
    for chunked, expected in zip(solve_ridges(*problem), whole, strict=True):
        np.testing.assert_allclose(chunked, expected, rtol=1e-9)
    np.testing.assert_allclose(
        features(rows.X) @ whole[0][0] + whole[1][0],
        SklearnRidge(0.1)
        .fit(features(rows.X), rows.y, sample_weight=weights[0])
        .predict(features(rows.X))[:, None]
        + 1e9,
        rtol=1e-15,
        atol=1e-6,
    )


def test_infinite_penalty_predicts_the_weighted_mean_and_the_prior_output_before_a_fit():
    rows = sample()
    family = RidgeExperts([RidgeConfig(1.0, inf, False, inf)], lambda Z: Z, "linear")
    family.reset(np.array([3.5]))
    assert (family.predict(rows.X, rows.X) == 3.5).all()
    family.fit(rows, rows.X, rows.y[:, None])
    np.testing.assert_allclose(
        family.predict(rows.X, rows.X)[:, 0, 0], np.average(rows.y, weights=rows.weights(1.0, inf))
    )
    assert family.names == ["constant, importance 1"]


def test_random_features_approximate_the_gaussian_kernel():
    X = np.random.default_rng(0).normal(size=(6, 3))
    features = RandomFeatures(3, 200_000, 1.5, np.random.default_rng(1))(X)
    expected = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / (2 * 1.5**2))
    np.testing.assert_allclose(
        features @ features.T, expected, atol=0.01
    )  # 4 deviations of the mean of 2·10⁵


def one_hot(rows, classes=3):
    return np.eye(classes)[np.digitize(rows.y, [6, 8])]


@pytest.mark.parametrize("dim", [5, 60], ids=["more rows", "more columns"])
def test_leave_one_out_scores_equal_refits_without_each_row(dim):
    rows = sample(30, dim)
    targets, weights = one_hot(rows), rows.weights(0.5, inf)
    _, _, _, scores = leave_one_out(rows.X, targets, weights)
    errors = []
    for penalty in PENALTIES:
        left = np.array([_without(row, rows.X, targets, weights, penalty) for row in range(30)])
        errors.append((weights @ (targets - left) ** 2).sum())
        if errors[-1] == min(errors):
            best = left
    np.testing.assert_allclose(scores, best, rtol=1e-6, atol=1e-6)


def _without(row, X, targets, weights, penalty):
    """Return the scores of a row from the others; the center, which the row is part of, is not moved."""
    center, mean = np.average(X, axis=0, weights=weights), np.average(targets, axis=0, weights=weights)
    kept = np.arange(len(X)) != row
    # Centring equals an additional column of ones without a penalty.
    A = np.column_stack([X - center, np.ones(len(X))])
    P = np.diag([penalty] * X.shape[1] + [0.0])
    W = np.diag(weights * kept)
    solved = np.linalg.solve(A.T @ W @ A + P, A.T @ W @ (targets - mean))
    return A[row] @ solved + mean


@pytest.mark.parametrize("bandwidth", [None, 0.7])
def test_class_ridge_predicts_classes_and_probabilities(bandwidth):
    rows, expert = sample(200, 2), ClassRidge(bandwidth, inf)
    targets = np.eye(2)[(rows.y > 7).astype(int)]
    expert.reset(np.full(2, 1 / 2))
    assert (expert.predict(rows.X, rows.X) == 1 / 2).all()
    expert.fit(rows, rows.X, targets)
    probabilities = expert.predict(rows.X, rows.X)[:, 0]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities.argmax(axis=1) == targets.argmax(axis=1)).mean() > 0.95


def test_class_ridge_at_random_uses_only_the_uniform_sample():
    rows, expert = sample(), ClassRidge(None, inf, at_random=True)
    expert.fit(rows, rows.X, one_hot(rows))
    only = ClassRidge(None, inf)
    kept = rows._replace(X=rows.X[rows.at_random], y=rows.y[rows.at_random], terms=rows.terms[rows.at_random])
    only.fit(kept, kept.X, one_hot(kept))
    np.testing.assert_allclose(expert.predict(rows.X, rows.X), only.predict(rows.X, rows.X))


FORESTS = [
    ExtraTreesRegressor(7, random_state=1),
    ExtraTreesRegressor(7, random_state=1, max_depth=3),
    ExtraTreesRegressor(7, random_state=1, max_features="sqrt"),
    ExtraTreesRegressor(7, random_state=1, max_features=2),
    ExtraTreesClassifier(7, random_state=1),
    RandomForestRegressor(7, random_state=1),
]


@pytest.mark.parametrize("estimator", FORESTS, ids=repr)
@pytest.mark.parametrize("count", [1, 200])
def test_forest_predictions_equal_scikit_learn(estimator, count):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300) * 2
    new = rng.normal(size=(count, 4))  # for training rows, any fully grown forest predicts the labels
    for options in ({}, {"sample_weight": rng.uniform(size=300)}):
        ours, theirs = fit_forest(clone(estimator), X, y, **options), clone(estimator).fit(X, y, **options)
        method = "predict_proba" if hasattr(theirs, "predict_proba") else "predict"
        predictions = [getattr(fitted, method)(new) for fitted in (ours, theirs)]
        np.testing.assert_allclose(*predictions, rtol=1e-12)
        np.testing.assert_array_equal(*(getattr(fitted, "classes_", None) for fitted in (ours, theirs)))


@pytest.mark.parametrize("estimator", FORESTS, ids=repr)
def test_forest_trees_equal_scikit_learn_bit_for_bit(estimator):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(90, 9)), rng.integers(0, 3, 90) * 2, rng.uniform(size=90)
    ours = fit_forest(clone(estimator), X, y, sample_weight=weights)
    theirs = clone(estimator).fit(X, y, sample_weight=weights).estimators_
    for tree, other in zip(ours._trees, theirs, strict=True):
        for name in ("feature", "threshold", "value", "children_left", "children_right"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(other.tree_, name))


@pytest.mark.parametrize("forest", [ExtraTreesRegressor(3), ExtraTreesClassifier(3)])
def test_private_tree_builder_fits_the_installed_scikit_learn(forest):
    """Fails if a release of scikit-learn changes the private modules; runs are then slow, but correct."""
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    assert len(_grow_trees(forest, X, np.arange(30) % 3)) == 3


@pytest.mark.parametrize("error", [ImportError, TypeError])
def test_forest_falls_back_to_scikit_learn_when_private_modules_differ(monkeypatch, error):
    X = np.random.default_rng(0).normal(size=(50, 3))
    expected = fit_forest(ExtraTreesRegressor(5, random_state=0), X, X[:, 0]).predict(X + 0.1)

    def fail(*_):
        raise error

    monkeypatch.setattr("sklearn.tree._tree.DepthFirstTreeBuilder", fail)
    predictions = fit_forest(ExtraTreesRegressor(5, random_state=0), X, X[:, 0]).predict(X + 0.1)
    np.testing.assert_array_equal(predictions, expected)


def test_residual_trees_extrapolate():
    X = np.linspace(0, 1, 50)[:, None]
    fitted = ResidualTrees(10, random_state=0).fit(X, 3 * X[:, 0], np.ones(50))
    assert ExtraTreesRegressor(10, random_state=0).fit(X, 3 * X[:, 0]).predict([[1.05]]) <= 3.0
    assert 3.0 < fitted.predict(np.array([[1.05]]))[0] <= 3.3


class FailingRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("fit failed\nand more")


class NanRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize(
    ("estimator", "reason"), [(FailingRegressor(), "fit failed"), (NanRegressor(), "not finite")]
)
def test_failing_estimator_is_named_and_predicts_the_mean(estimator, reason):
    rows, expert = sample(), EstimatorExpert(estimator)
    expert.reset(np.zeros(1))
    with pytest.warns(
        FailedFitWarning,
        match=f"{type(estimator).__name__} could not be fitted to 40 labels .*{reason}.*predicts the mean",
    ):
        expert.fit(rows, rows.X, rows.y[:, None])
    np.testing.assert_allclose(expert.predict(rows.X, rows.X), rows.y.mean())


def test_forest_fit_fails_with_a_warning_when_an_input_is_too_large():
    rows, expert = sample(), EstimatorExpert(ExtraTreesRegressor(3))
    rows.X[0] = 1e39
    with pytest.warns(FailedFitWarning, match="too large for dtype"):
        expert.fit(rows, rows.X, rows.y[:, None])


class WarningRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        warnings.warn("divided by 0", RuntimeWarning, stacklevel=2)
        return self

    def predict(self, X):
        return np.full(len(X), 3.0)


def test_estimator_warnings_of_every_fit_are_suppressed():
    rows, expert = sample(), EstimatorExpert(WarningRegressor())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expert.fit(rows, rows.X, rows.y[:, None])
    assert (expert.predict(rows.X, rows.X) == 3).all()


def test_estimator_gets_weights_and_seed_when_it_takes_them():
    rows = sample()
    expert = EstimatorExpert(ExtraTreesRegressor(3), 1.0, seed=5)
    expert.fit(rows, rows.X, rows.y[:, None])
    theirs = ExtraTreesRegressor(3, random_state=5).fit(rows.X, rows.y, sample_weight=rows.weights(1.0, inf))
    np.testing.assert_allclose(expert.predict(rows.X, rows.X)[:, 0, 0], theirs.predict(rows.X))


def test_single_class_is_predicted_by_frequency_and_missing_class_has_none():
    rows, expert = sample(), EstimatorExpert(LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expert.fit(rows, rows.X, np.eye(3)[np.ones(40, dtype=int)])
    assert (expert.predict(rows.X, rows.X)[:, 0] == [0, 1, 0]).all()
    expert.fit(rows, rows.X, np.eye(3)[(rows.y > 7) * 2])
    assert (expert.predict(rows.X, rows.X)[:, 0, 1] == 0).all()
