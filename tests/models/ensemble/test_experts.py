"""`Experts` and `Refit` through the public API, and against slow reference implementations."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.refusals import refusal

from qufur import Experts, Learner, QuFUR, Refit, Steady, Uniform, run
from qufur.errors import FailedFitWarning, OtherVersionWarning
from qufur.models.ensemble.expert import EstimatorExpert
from qufur.models.ensemble.leverage import REGULARIZATION
from qufur.streams import Arrays

pytestmark = pytest.mark.usefixtures("few_trees")


def table(count=150, seed=0):
    """Return columns of different units, of which one hardly varies at first, and labels from 5 to 1000."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4)) * [1, 1e3, 1e-3, 0] + [0, 1e6, 5, 2]
    X[count // 2 :, 3] = rng.integers(0, 2, count - count // 2)
    y = 500 + 100 * X[:, 0] + 0.1 * (X[:, 1] - 1e6) + 50 * X[:, 3] + 5 * rng.normal(size=count)
    return X, np.clip(y, 5, 1000)


def positions(X):
    """Return the positions at which the scaling is updated, as documented."""
    fixed, position = [], 1
    while position <= len(X):
        fixed.append(position)
        position = 2 * position if position < 32 else position + position // 8
    deviation, mean, low, high, out = None, None, None, None, []
    for t in range(1, len(X) + 1):
        if deviation is not None:
            far = abs(X[t - 1] - mean) > 8 * deviation
            far &= (X[t - 1] < low) | (X[t - 1] > high)
        if t in fixed or far.any():
            out.append(t)
            seen = X[:t]
            mean, deviation, low, high = seen.mean(0), seen.std(0), seen.min(0), seen.max(0)
            deviation = np.where(high > low, deviation, 0)
    return out


def scaled(X, seen):
    deviation = seen.std(axis=0)
    varying = seen.max(axis=0) > seen.min(axis=0)
    unit = np.where(varying, deviation, np.inf)
    return np.clip((X - seen.mean(axis=0)) / unit, -8, 8) / np.sqrt(max(1, varying.sum()))


def test_uncertainty_is_the_leverage_of_all_queried_rows_in_the_current_scaling():
    X, y = table()
    learner, queried, at = Learner(Experts(), QuFUR(0.3)), [], positions(X)
    for t, x in enumerate(X):
        seen = X[: max(position for position in at if position <= t + 1)]
        answer = learner.ask(x)
        rows = np.array([*queried, x]).reshape(-1, 4)
        Z = np.column_stack(
            [
                scaled(rows, seen),
                np.full(len(rows), learner.state.leverage.inputs.model.feature_one(np.zeros(4))[-1]),
            ]
        )
        M = REGULARIZATION * np.eye(5) + Z[:-1].T @ Z[:-1]
        assert answer.uncertainty == pytest.approx(min(1, Z[-1] @ np.linalg.solve(M, Z[-1])), rel=1e-6)
        if answer.query:
            queried.append(x)
            if t % 3:
                learner.tell(answer.id, y[t])
    assert 20 < len(queried) < 120


@pytest.mark.parametrize("then", ["uncertainty", "ask", "save"])
def test_leverage_does_not_depend_on_when_block_rows_enter_M(then, tmp_path):
    X = np.random.default_rng(0).uniform(size=(60, 3))  # the scaling is updated at 45 and at 50
    together, apart = (Learner(Refit(LinearRegression()), Uniform(0.8), seed=1) for _ in range(2))
    assert together.ask_many(X[:48]).query[44:].sum() > 1
    for x in X[:48]:
        apart.ask(x)
    if then == "ask":
        expected = apart.ask(X[48]).uncertainty
        assert together.ask(X[48]).uncertainty == pytest.approx(expected, rel=1e-9)
    if then == "save":
        together.save(tmp_path / "learner")
        together = Learner.load(tmp_path / "learner")
    np.testing.assert_allclose(together.uncertainty(X), apart.uncertainty(X), rtol=1e-9)


def test_refit_fits_only_when_due():
    X, y = table()
    learner, rows, fitted, at = Learner(Refit(LinearRegression()), Uniform(0.4), seed=1), [], 0, positions(X)
    model = None
    for t, x in enumerate(X):
        if t + 1 in at and len(rows) > 1.05 * fitted:
            fitted, model = len(rows), fit(learner, rows, X, y)
        expected = 0.0
        if rows:
            low, high = y[rows].min(), y[rows].max()
            prediction = y[rows[0]] if model is None else model.predict(x[None])[0]
            margin = (0.1 + len(rows) ** -0.5) * (high - low)
            expected = np.clip(prediction, low - margin, high + margin)
        answer = learner.ask(x)
        if model is not None or not rows:
            assert answer.prediction == pytest.approx(expected, rel=1e-6)
        if answer.query:
            learner.tell(answer.id, y[t])
            rows.append(t)
            if len(rows) >= fitted + max(3, int(0.15 * fitted)):
                fitted, model = len(rows), fit(learner, rows, X, y)


def fit(learner, rows, X, y):
    weights = learner.state.labelled.first().weights(0.5, np.inf)
    return LinearRegression().fit(X[rows], y[rows], sample_weight=weights)


def test_batch_of_labels_causes_one_lazy_fit(monkeypatch):
    fits, fit_one = [], EstimatorExpert.fit
    monkeypatch.setattr(EstimatorExpert, "fit", lambda *expert: fits.append(1) or fit_one(*expert))
    X, y = table(60)
    together, apart = (Learner(Refit(LinearRegression()), Uniform(1.0), seed=1) for _ in range(2))
    for learner in (together, apart):
        learner.ask_many(X)
    together.tell_many(range(60), y)
    assert not fits
    expected = together.predict(X)
    assert len(fits) == 1
    for t in range(60):
        apart.tell(t, y[t])
        apart.predict(X)
    assert len(fits) > 10
    np.testing.assert_array_equal(apart.predict(X), expected)


def test_experts_on_raw_data_match_scaled_data_with_a_given_range():
    X, y = table(400)
    raw = run(Learner(Experts(), Steady(60, 400)), Arrays(X, y))
    with_range = Learner(Experts(label_range=(5, 1000)), Steady(60, 400))
    best = run(with_range, Arrays((X - X.mean(axis=0)) / X.std(axis=0), y))
    assert raw.queries == best.queries == 60
    assert raw.loss[60:].mean() < 1.05 * best.loss[60:].mean() < 0.2 * y.var()


def test_decisions_are_invariant_to_units_and_offsets_of_inputs():
    X, y = table()
    one, other = (
        run(Learner(Experts(), Steady(40, 150)), Arrays(rows, y))
        for rows in (X, X * [1024, 2**-7, 8, 2] + [3, 0, 1, 0])
    )
    np.testing.assert_array_equal(one.query, other.query)
    np.testing.assert_allclose(one.uncertainty, other.uncertainty, rtol=1e-6)


def test_predictions_are_equivariant_to_units_of_labels():
    X, y = table()
    one, other = (run(Learner(Experts(), Uniform(0.3)), Arrays(X, labels)) for labels in (y, 1000 * y + 1e6))
    # Before the first label the prediction is 0.
    later = one.query.argmax() + 1
    np.testing.assert_allclose(other.prediction[later:], 1000 * one.prediction[later:] + 1e6, rtol=1e-4)


def test_class_names_are_accepted_and_predicted():
    X, y = table()
    names = np.where(y > 500, "high", "low")
    learner = Learner(Experts(classes=["low", "high"]), Uniform(0.5))
    for x, name in zip(X, names, strict=True):
        answer = learner.ask(x)
        assert answer.prediction in ("low", "high")
        if answer.query:
            learner.tell(answer.id, str(name))
    learner.learn(X[:5], names[:5])
    assert (learner.predict(X) == names).mean() > 0.9
    assert "low" in refusal(lambda: learner.learn(X[:1], ["middle"]))


def test_single_class_and_constant_labels_are_learned():
    X, _ = table(60)
    learner = Learner(Experts(classes=[0, 1]), Uniform(1.0))
    for x in X:
        learner.tell(learner.ask(x).id, 1)
    assert (learner.predict(X) == 1).all()
    learner = Learner(Experts(), Uniform(1.0))
    for x in X:
        learner.tell(learner.ask(x).id, 7.5)
    np.testing.assert_allclose(learner.predict(X), 7.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Experts(0), "dim of Experts must be an integer of at least 1"),
        (lambda: Experts(label_range=(1, 1)), "label_range of Experts must be two finite numbers"),
        (lambda: Experts(classes=["a"]), "classes of Experts must be at least two different"),
        (lambda: Experts(classes=[0.0, float("nan")]), "classes of Experts must be at least two different"),
        (lambda: Experts(classes=["a", "a"]), "classes of Experts must be at least two different"),
        (lambda: Experts(classes=[0, 1], label_range=(0, 1)), "label_range of Experts must be omitted"),
        (lambda: Experts(also=[LogisticRegression()]), "a regressor; classes=[...] is for classes"),
        (lambda: Experts(classes=[0, 1], also=[LinearRegression()]), "a classifier, as there are classes"),
        (lambda: Refit(LinearRegression), "estimator of Refit must be a scikit-learn estimator"),
        (lambda: Refit(3), "estimator of Refit must be a scikit-learn estimator"),
        (lambda: Experts(seed=-1), "seed of Experts must be an integer of at least 0"),
    ],
)
def test_invalid_arguments_raise(make, message):
    assert message in refusal(make)


class FailingRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("fit failed")

    def predict(self, X):
        return np.zeros(len(X))


def test_failing_estimator_warns_and_ensemble_still_learns():
    X, y = table()
    learner = Learner(Experts(also=[FailingRegressor()]), Uniform(0.3))
    with pytest.warns(FailedFitWarning, match="FailingRegressor could not be fitted"):
        loss = run(learner, Arrays(X, y)).loss
    assert loss[-50:].mean() < 0.3 * y.var()


@pytest.mark.parametrize(
    "model",
    [
        Experts(also=[make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=3))]),
        Refit(DecisionTreeClassifier(max_depth=2), classes=["low", "high"]),
    ],
    ids=["experts", "refit"],
)
def test_estimators_are_saved_by_name_and_refitted_on_load(tmp_path, model):
    X, y = table(60)
    labels = y if model.classes is None else np.where(y > 500, "high", "low")
    learner = Learner(model, Uniform(0.5))
    for x, label in zip(X, labels.tolist(), strict=True):
        answer = learner.ask(x)
        if answer.query:
            learner.tell(answer.id, label)
    learner.save(tmp_path / "learner.qufur")
    again = Learner.load(tmp_path / "learner.qufur")
    assert again.model == model
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    assert b"DecisionTree" in (tmp_path / "learner.qufur").read_bytes()


def test_load_warns_about_another_scikit_learn_version(tmp_path, monkeypatch):
    learner = Learner(Refit(LinearRegression()), Uniform(1.0))
    learner.learn(np.eye(3), [1.0, 2.0, 9.0])
    with monkeypatch.context() as patched:
        patched.setattr("qufur.models.ensemble.fits._scikit_learn_version", lambda: "0.1")
        learner.learn(np.eye(3), [1.0, 2.0, 9.0])
        learner.save(tmp_path / "learner.qufur")
    with pytest.warns(OtherVersionWarning, match=r"scikit-learn 0\.1 are fitted again with"):
        again = Learner.load(tmp_path / "learner.qufur")
    np.testing.assert_allclose(again.predict(np.eye(3)), learner.predict(np.eye(3)))
    again.learn(np.eye(3), [1.0, 2.0, 9.0])
    again.save(tmp_path / "learner.qufur")
    Learner.load(tmp_path / "learner.qufur")


class CustomRegressor(DummyRegressor):
    pass


def test_custom_estimator_must_be_passed_to_load(tmp_path):
    learner = Learner(Refit(CustomRegressor(strategy="median")), Uniform(1.0))
    learner.learn(np.eye(3), [1.0, 2.0, 9.0])
    learner.save(tmp_path / "learner.qufur")
    assert "estimators={'CustomRegressor': CustomRegressor(...)}" in refusal(
        lambda: Learner.load(tmp_path / "learner.qufur")
    )
    again = Learner.load(
        tmp_path / "learner.qufur", estimators={"CustomRegressor": CustomRegressor(strategy="median")}
    )
    assert again.predict(np.eye(3)).tolist() == [2.0, 2.0, 2.0]


def test_load_rejects_pipeline_memory_from_a_file(tmp_path):
    pipeline = make_pipeline(StandardScaler(), LinearRegression(), memory=str(tmp_path / "cache"))
    learner = Learner(Refit(pipeline), Uniform(1.0))
    learner.save(tmp_path / "learner.qufur")
    assert "memory of Pipeline in the file must be None" in refusal(
        lambda: Learner.load(tmp_path / "learner.qufur")
    )
    again = Learner.load(tmp_path / "learner.qufur", estimators={"Pipeline": pipeline})
    assert again.model == learner.model


def test_uniform_sample_has_the_draws_below_the_floor():
    X, y = table(400)
    learner = Learner(Experts(), Steady(100, 400), seed=4)
    run(learner, Arrays(X, y))
    sample = learner.state.labelled.first()
    assert 30 < sample.at_random.sum() < 75  # about half of 100
    p, mean, _ = sample.terms.T
    assert (p > 0).all()
    assert (abs(mean[50:] - 0.25) < 0.15).all()


def test_bias_correction_follows_labels_within_the_range_and_is_reset_by_relabel():
    """Inputs are uninformative, and the last labels jump to the top of the range."""
    learner = Learner(Experts(label_range=(0, 10)), Uniform(1.0))
    inputs = np.random.default_rng(0).normal(size=(60, 1))
    for index, row in enumerate(inputs):
        learner.tell(learner.ask(row).id, 0.0 if index < 50 else 10.0)
    assert 5 < learner.predict(inputs).min() <= learner.predict(inputs).max() <= 10
    state = learner.state
    state.relabel(inputs, np.full(60, 5.0))
    np.testing.assert_allclose(learner.predict(inputs), 5.0)


def test_bias_correction_ignores_predictions_made_many_labels_ago():
    """Experts predicted a batch of labels before learning any of them, and have learned from them since."""
    learner = Learner(Experts(), Uniform(1.0))
    inputs = np.random.default_rng(0).normal(size=(60, 1))
    learner.learn(inputs[:20], np.ones(20))
    answers = learner.ask_many(inputs[20:])
    learner.tell_many(answers.id[:3], [10.0] * 3)
    arrays = learner.state.schedule.aggregation.arrays
    assert arrays()["levels"][0].min() > 5
    learner.tell_many(answers.id[3:], [10.0] * 37)
    assert not arrays()["levels"].any()
