"""Estimators that overwrite their arguments: the data of learner and caller stay unchanged."""

import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qufur import Experts, Learner, Refit, Uniform
from qufur.models.ensemble.expert import EstimatorExpert
from qufur.service.fits import FitWorker

X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 10, 100] + [5, 50, 500]
Y = X[:, 0] + 0.01 * X[:, 1]
pytestmark = pytest.mark.usefixtures("few_trees")


class Overwrites(BaseEstimator):
    """Estimator that learns from copies and then overwrites its arguments."""

    def fit(self, X, y, sample_weight=None):
        self.model_ = self.estimator_type().fit(X.copy(), y.copy(), sample_weight.copy())
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        X[:], y[:], sample_weight[:] = 0, 0, 0
        return self

    def predict(self, X):
        predictions = self.model_.predict(X.copy())
        X[:] = 0
        return predictions


class OverwritingRegressor(RegressorMixin, Overwrites):
    estimator_type = LinearRegression


class OverwritingClassifier(ClassifierMixin, Overwrites):
    estimator_type = LogisticRegression

    def predict_proba(self, X):
        probabilities = self.model_.predict_proba(X.copy())
        X[:] = 0
        return probabilities


class CopyingRegressor(OverwritingRegressor):
    """The same estimator without side effects on its arguments."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X.copy(), y.copy(), sample_weight.copy())

    def predict(self, X):
        return super().predict(X.copy())


def run_learner(model, rows, labels):
    """Return a learner after queries, labels and free labels, and its predictions."""
    learner, predictions = Learner(model, Uniform(0.6), seed=1), []
    for x, y in zip(rows[:50], labels, strict=False):
        answer = learner.ask(x)
        predictions.append(answer.prediction)
        if answer.query:
            learner.tell(answer.id, y)
    learner.learn(rows[50:], labels[50:])
    return learner, [*predictions, *learner.predict(rows)]


MAKERS = {"also": lambda one: Experts(3, also=[one]), "refit": lambda one: Refit(one, label_range=(0, 12))}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_overwritten_arrays_change_neither_labels_nor_inputs(make, tmp_path):
    rows, labels = X.copy(), Y.copy()
    learner, predictions = run_learner(make(OverwritingRegressor()), rows, labels)
    expected, expected_predictions = run_learner(make(CopyingRegressor()), X.copy(), Y.copy())
    assert (rows == X).all()
    assert (labels == Y).all()
    np.testing.assert_array_equal(predictions, expected_predictions)
    for mine, theirs in zip(learner.state.labelled.first(), expected.state.labelled.first(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    learner.save(tmp_path / "l.qufur")
    estimators = {"OverwritingRegressor": OverwritingRegressor()}
    loaded = Learner.load(tmp_path / "l.qufur", estimators=estimators)
    np.testing.assert_array_equal(loaded.predict(rows), learner.predict(rows))


def test_overwritten_arrays_change_no_class_labels():
    classes = np.where(Y > 5.5, "high", "low")
    for make in (lambda one, **o: Experts(3, also=[one], **o), Refit):
        rows = X.copy()
        learner, _ = run_learner(make(OverwritingClassifier(), classes=["high", "low"]), rows, classes)
        learner.predict_proba(rows)
        assert (rows == X).all()
        labelled = learner.state.labelled.first()
        assert set(labelled.y) == {0.0, 1.0}
        assert (labelled.terms[:, 0] > 0).all()


@pytest.mark.parametrize("where", ["in place", "in a thread", "in a process"])
def test_deferred_fits_do_not_change_labels(where):
    estimator = make_pipeline(StandardScaler(copy=False), Lasso(0.01, copy_X=False))
    if where != "in a process":  # the process can only import installed estimators
        estimator = OverwritingRegressor()
    learner = Learner(Refit(estimator, label_range=(0, 12)), Uniform(0.5))
    learner.background_fits.defer()
    learner.learn(X, Y)
    job = learner.background_fits.next_job()
    results = []
    if where == "in a thread":
        thread = threading.Thread(target=lambda: results.append(job.run()))
        thread.start()
        thread.join()
    elif where == "in a process":
        fitter = FitWorker()
        results.append(fitter.run(job))
        fitter.stop()
    else:
        results.append(job.run())
    assert learner.background_fits.install(results[0])
    np.testing.assert_array_equal(learner.state.labelled.first().y, Y)
    np.testing.assert_array_equal(learner.state.labelled.first().X, X)
    assert np.mean((learner.predict(X) - Y) ** 2) < 0.01


def test_each_estimator_gets_its_own_arrays():
    """The second of two estimators does not see the first one's overwritten arrays."""
    learner = Learner(Experts(3, also=[OverwritingRegressor(), OverwritingRegressor()]), Uniform(0.5))
    learner.learn(X, Y)
    first, second = learner.state.expert_predictions(X)[:, -2:, 0].T
    np.testing.assert_array_equal(first, second)
    assert np.mean((first - Y) ** 2) < 0.01


def test_scaled_estimator_gets_copies():
    expert = EstimatorExpert(OverwritingRegressor(), scaled=True)
    learner = Learner(Experts(3), Uniform(0.5))
    learner.learn(X, Y)
    sample = learner.state.labelled.first()
    expert.reset(np.zeros(1))
    expert.fit(sample, sample.X, sample.y[:, None])
    np.testing.assert_array_equal(sample.y, Y)
    np.testing.assert_array_equal(sample.X, X)
