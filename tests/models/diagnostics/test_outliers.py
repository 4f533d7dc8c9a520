"""Outliers: one warning before any change, and the label is learned nevertheless."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from tests.same import same_content

from qufur import Learner, OutlierWarning, Refit, Ridge, Softmax, Uniform, run, streams
from qufur.models.diagnostics.outliers import ObservedRange, first_outlier
from qufur.snapshot import encode

X = np.random.default_rng(0).normal(size=(60, 2))
LEARNED = Refit(LinearRegression())


def learner_with_labels(model, count):
    learner = Learner(model, Uniform(1.0))
    learner.learn(X[:count], 30 + np.arange(count) % 5)
    return learner


def ask_and_tell(learner, label):
    learner.ask(X[0], id="outlier")
    learner.tell("outlier", label)


@pytest.mark.parametrize(
    "model", [Refit(LinearRegression(), label_range=(0, 10)), Ridge(2, label_range=(0, 10))]
)
@pytest.mark.parametrize("label", [111.0, -101.0])
def test_given_range_warns_from_the_first_label(model, label):
    learner = Learner(model, Uniform(1.0))
    with pytest.warns(
        OutlierWarning, match=rf"range \[0, 10\] away from it, got {label:g} for 'outlier'"
    ) as seen:
        ask_and_tell(learner, label)
    assert [warning.filename for warning in seen] == [__file__]
    assert learner.ledger.answered == 1


def test_learned_range_warns_only_after_twenty_labels():
    ask_and_tell(learner_with_labels(LEARNED, 19), 1e6)
    learner = learner_with_labels(LEARNED, 20)
    with pytest.warns(OutlierWarning, match=r"range \[30, 34\] away from it, got 74.1 for 'outlier'"):
        ask_and_tell(learner, 74.1)
    learner.ask(X[1], id="next")
    learner.tell("next", 400.0)  # the range has widened


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (LEARNED, 74.0),
        (Ridge(2, label_range=(0, 10)), 110.0),
        (Ridge(2), 21.0),
        (Ridge(2, clip=False), 1e9),
        (Softmax(2, 35), 34.0),
        (Refit(LinearRegression(), label_range=(30, 34)), -10.0),
    ],
    ids=str,
)
def test_labels_near_the_range_cause_no_warning(model, label):
    learner = learner_with_labels(model, 0) if isinstance(model, Ridge) else learner_with_labels(model, 40)
    ask_and_tell(learner, label)


def test_constant_labels_have_no_range():
    learner = Learner(LEARNED, Uniform(1.0))
    learner.learn(X, np.zeros(60))
    ask_and_tell(learner, 1.0)


def test_several_outliers_cause_one_warning():
    learner = Learner(Ridge(2), Uniform(1.0))
    learner.ask_many(X[:5])
    with pytest.warns(OutlierWarning, match=r"got 30 for 2 and 1 more\. Is it") as seen:
        learner.tell_many(range(5), [0, 1, 30, 0, -30])
    assert len(seen) == 1
    with pytest.warns(OutlierWarning, match=r"got 50 for 1\.") as seen:
        learner.learn(X[:2], [0.0, 50.0])
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize("model", [Ridge(2), Ridge(2, half_life=9), LEARNED], ids=str)
def test_warning_raised_as_error_changes_nothing(model):
    learner = Learner(model, Uniform(1.0))
    learner.learn(X[20:50], np.linspace(-1, 1, 30))
    learner.ask_many(X[:3])
    before = encode(learner)
    for call in (
        lambda: learner.tell(0, 1e3),
        lambda: learner.tell_many([0, 1], [0.5, 1e3]),
        lambda: learner.learn(X[:2], [0.5, 1e3]),
    ):
        with pytest.raises(OutlierWarning):
            call()
        assert same_content(encode(learner), before)
    learner.tell(0, 0.5)


@pytest.mark.parametrize("model", [Ridge(2), LEARNED], ids=str)
@pytest.mark.parametrize("delay", [0, 7])
def test_blocks_give_the_same_warnings_and_learn(model, delay):
    y = np.linspace(-1, 1, 60)
    y[40] = 50.0
    messages, learners = [], []
    for block in (1, 16, 60):
        learner = Learner(model, Uniform(1.0))
        with pytest.warns(OutlierWarning, match="got 50 for 40") as seen:
            run(learner, streams.Arrays(X, y), block=block, delay=delay)
        messages.append([str(warning.message) for warning in seen])
        learners.append(learner)
    assert messages[0] == messages[1] == messages[2]
    assert len(messages[0]) == 1
    assert {learner.ledger.answered for learner in learners} == {60}


def test_learner_continues_after_a_warning_raised_in_a_run():
    y = np.zeros(60)
    y[40] = 50.0
    learner = Learner(Ridge(2), Uniform(1.0))
    with pytest.raises(OutlierWarning):
        run(learner, streams.Arrays(X, y), block=20)
    assert learner.ledger.answered == learner.ledger.examples == 60
    learner.ask(X[0])


def test_labels_not_bought_cause_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(Learner(Ridge(2), Uniform(0.5, budget=5)), streams.Arrays(X, np.where(np.arange(60) < 50, 0, 99)))


def test_first_outlier_widens_the_range_label_by_label():
    labels = np.array([0.0, 1.0, 9.0, 95.0, 1e3])
    assert first_outlier(ObservedRange(0.0, 1.0, labels=20), "abcde", labels) is None
    labels = np.array([0.0, 1.0, 12.0, 95.0, 1e3])
    assert first_outlier(ObservedRange(0.0, 1.0, labels=20), "abcde", labels)[:4] == ("c", 12.0, 0.0, 1.0)
    assert first_outlier(ObservedRange(np.inf, -np.inf, labels=0), range(5), labels) is None
    many = np.append(np.tile([0.0, 1.0], 10), [11.5, 1e308])
    assert first_outlier(ObservedRange(np.inf, -np.inf, labels=0), range(22), many)[::4] == (20, 1)
