"""Estimators that write to the arrays they are given: nothing of the learner or the caller changes."""

import threading
from math import inf

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qufur import Experts, Learner, Refit, Uniform
from qufur.models.experts.estimator_expert import EstimatorExpert
from qufur.service.fitter import Fitter

X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 10, 100] + [5, 50, 500]
Y = X[:, 0] + 0.01 * X[:, 1]
pytestmark = pytest.mark.usefixtures("few_trees")


class Overwrites(BaseEstimator):
    """An estimator that learns from copies, and then overwrites all that it was given."""

    def fit(self, X, y, sample_weight=None):
        self.model_ = self.kind().fit(X.copy(), y.copy(), sample_weight.copy())
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        X[:], y[:], sample_weight[:] = 0, 0, 0
        return self

    def predict(self, X):
        said = self.model_.predict(X.copy())
        X[:] = 0
        return said


class OverwritingRegressor(RegressorMixin, Overwrites):
    kind = LinearRegression


class OverwritingClassifier(ClassifierMixin, Overwrites):
    kind = LogisticRegression

    def predict_proba(self, X):
        said = self.model_.predict_proba(X.copy())
        X[:] = 0
        return said


class Careful(OverwritingRegressor):
    """The same estimator, which leaves alone what it was given."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X.copy(), y.copy(), sample_weight.copy())

    def predict(self, X):
        return super().predict(X.copy())


def played(model, rows, labels):
    """Return a learner that was asked, told and taught, and what it answered."""
    learner, said = Learner(model, Uniform(0.6), seed=1), []
    for x, y in zip(rows[:50], labels, strict=False):
        answer = learner.ask(x)
        said.append(answer.prediction)
        if answer.query:
            learner.tell(answer.id, y)
    learner.learn(rows[50:], labels[50:])
    return learner, [*said, *learner.predict(rows)]


MAKERS = {"also": lambda one: Experts(3, also=[one]), "refit": lambda one: Refit(one, label_range=(0, 12))}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_overwritten_arrays_change_neither_labels_nor_inputs(make, tmp_path):
    rows, labels = X.copy(), Y.copy()
    learner, said = played(make(OverwritingRegressor()), rows, labels)
    expected, words = played(make(Careful()), X.copy(), Y.copy())
    assert (rows == X).all()
    assert (labels == Y).all()
    np.testing.assert_array_equal(said, words)
    for mine, theirs in zip(learner.state.labelled.first(), expected.state.labelled.first(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    learner.save(tmp_path / "l.qufur")
    given = {"OverwritingRegressor": OverwritingRegressor()}
    loaded = Learner.load(tmp_path / "l.qufur", estimators=given)
    np.testing.assert_array_equal(loaded.predict(rows), learner.predict(rows))


def test_overwritten_arrays_of_classes_change_nothing():
    classes = np.where(Y > 5.5, "high", "low")
    for make in (lambda one, **o: Experts(3, also=[one], **o), Refit):
        rows = X.copy()
        learner, _ = played(make(OverwritingClassifier(), classes=["high", "low"]), rows, classes)
        learner.predict_proba(rows)
        assert (rows == X).all()
        labelled = learner.state.labelled.first()
        assert set(labelled.y) == {0.0, 1.0}
        assert (labelled.terms[:, 0] > 0).all()


@pytest.mark.parametrize("where", ["here", "in a thread", "in a process"])
def test_fits_elsewhere_do_not_change_labels(where):
    estimator = make_pipeline(StandardScaler(copy=False), Lasso(0.01, copy_X=False))
    if where != "in a process":  # which only knows estimators that can be imported there
        estimator = OverwritingRegressor()
    learner = Learner(Refit(estimator, label_range=(0, 12)), Uniform(0.5))
    learner.fit_elsewhere()
    learner.learn(X, Y)
    fitting = learner.due_fit()
    found = []
    if where == "in a thread":
        thread = threading.Thread(target=lambda: found.append(fitting.run()))
        thread.start()
        thread.join()
    elif where == "in a process":
        fitter = Fitter()
        found.append(fitter.run(fitting))
        fitter.stop()
    else:
        found.append(fitting.run())
    assert learner.install_fit(found[0])
    np.testing.assert_array_equal(learner.state.labelled.first().y, Y)
    np.testing.assert_array_equal(learner.state.labelled.first().X, X)
    assert np.mean((learner.predict(X) - Y) ** 2) < 0.01


def test_every_estimator_is_given_arrays_of_its_own():
    """The second of two estimators sees what the first was given, not what the first made of it."""
    learner = Learner(Experts(3, also=[OverwritingRegressor(), OverwritingRegressor()]), Uniform(0.5))
    learner.learn(X, Y)
    first, second = learner.state.ask_experts(X)[:, -2:, 0].T
    np.testing.assert_array_equal(first, second)
    assert np.mean((first - Y) ** 2) < 0.01


def test_scaled_rows_are_copies_too():
    expert = EstimatorExpert(OverwritingRegressor(), scaled=True, half_life=inf)
    learner = Learner(Experts(3), Uniform(0.5))
    learner.learn(X, Y)
    sample = learner.state.labelled.first()
    expert.rest(np.zeros(1))
    expert.fit(sample, sample.X, sample.y[:, None])
    np.testing.assert_array_equal(sample.y, Y)
    np.testing.assert_array_equal(sample.X, X)
