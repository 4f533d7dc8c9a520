"""The headline error and the comparison with random labels, against the truth on real tables."""

import numpy as np
import pytest
from studies.real import tables

from qufur import Experts, Learner, Ridge, Softmax, Steady, Uniform
from qufur.data.files import MissingDataError
from qufur.estimates.headline import Headline
from qufur.estimates.timeline import Timeline, point

ROWS, SHARE = 1200, 0.1


def real_table(name):
    try:
        table = getattr(tables, name)()
    except MissingDataError as error:
        pytest.skip(f"{name}: {error}")
    return table.X[:ROWS], table.y[:ROWS]


def play(rule, X, y, seed):
    """Ask a learner about rows one by one; return it and its squared errors after the tenth row."""
    learner, losses = Learner(Experts(seed=seed), rule, seed=seed), []
    for x, label in zip(X, y, strict=True):
        answer = learner.ask(x)
        losses.append((answer.prediction - label) ** 2)
        if answer.query or (len(losses) <= 10 and isinstance(rule, Uniform)):
            learner.tell(answer.id, label) if answer.query else learner.learn(x[None], [label])
    return learner, np.array(losses[10:])


# Seeds at which an ensemble on chosen labels has a clear lead over one model on random labels, while the
# same ensemble does as well on random labels: the lead comes from the ensemble.
@pytest.mark.parametrize(("name", "seed"), [("bike", 1), ("abalone", 0), ("diabetes", 1)])
def test_random_label_interval_contains_the_true_ratio(name, seed):
    X, y = real_table(name)
    learner, chosen = play(Steady(int(SHARE * len(X)), len(X)), X, y, seed)
    random = np.mean([play(Uniform(SHARE), X, y, 10 + other)[1].mean() for other in range(2)])
    found = learner.state.ensemble_report().random_labels
    assert found.low <= random / chosen.mean() <= found.high
    assert found.ratio == pytest.approx(random / chosen.mean(), rel=0.25)
    assert not found.is_clear
    assert point(learner).at_random is None


@pytest.mark.parametrize("model", [Softmax(3, 4), Experts(3, classes=["a", "b"])], ids=["Softmax", "Experts"])
def test_error_of_classes_is_a_share_and_no_root(model):
    learner = Learner(model, Uniform(0.5), seed=0)
    rng = np.random.default_rng(0)
    answers = learner.ask_many(rng.normal(size=(400, 3)))  # all of them before the first label
    labels = [answers.prediction[row] for row in range(400)]
    classes = [0, 1, 2, 3] if isinstance(model, Softmax) else ["a", "b"]
    wrong = [row for row in range(400) if row % 4 == 0]
    for row in wrong:
        labels[row] = next(one for one in classes if one != labels[row])
    for row in answers.query.nonzero()[0].tolist():
        learner.tell(answers.id[row], labels[row])
    headline = Headline.of(learner)
    assert headline.error == pytest.approx(0.25, abs=0.06)
    assert headline.low < 0.25 < headline.high < 0.5
    assert (point(learner).error, learner.report().headline) == (headline.error, headline)


def test_headline_is_unknown_before_labels_have_a_range():
    learner = Learner(Experts(2), Uniform(0.5), seed=0)
    assert Headline.of(learner) == (None, None, None, 0.0)
    answers = learner.ask_many(np.random.default_rng(0).normal(size=(50, 2)))
    for row in answers.query.nonzero()[0].tolist():
        learner.tell(answers.id[row], 500.0 + row)
    assert Headline.of(learner) == (None, None, None, 0.0)


def test_last_point_of_the_chart_is_the_present_error():
    learner, course = Learner(Ridge(2, label_range=(0, 4)), Uniform(1.0), seed=0), Timeline()
    X = np.random.default_rng(0).normal(size=(40, 2))
    for start in range(0, 40, 10):
        answers = learner.ask_many(X[start : start + 10])
        learner.tell_many(answers.id, [2.0] * 10)
        course.note(learner)
    *earlier, now = course.points_until_now(learner)
    assert [one.rows for one in earlier] == [10, 20, 30]
    assert now == point(learner)
    learner.ask_many(X)  # the interval widens while labels are outstanding
    assert course.points_until_now(learner)[-1].high == learner.report().headline.high > now.high


def test_points_of_older_files_keep_weights_and_drop_errors_of_another_estimate():
    saved = Timeline(points=[]).save() | {
        "points": [
            {"rows": 9, "labels": 3, "error": 0.36, "low": 0.1, "high": 0.5, "weights": {"trees": 1.0}}
        ]
    }
    assert Timeline.restored(saved).points[0].error == 0.36
    del saved["version"]
    (old,) = Timeline.restored(saved).points
    assert (old.rows, old.labels, old.error, old.low, old.weights) == (9, 3, None, None, {"trees": 1.0})


def test_error_is_unknown_while_only_rows_before_the_label_range_are_labelled():
    """The first batch is predicted before any label, the second one has no label yet: 0 would be wrong."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    learner = Learner(Experts(), Steady(40, 200), seed=0)
    learner.ask_many(X[:100])
    ids = list(learner.outstanding)
    learner.tell_many(ids, 500 + 100 * X[ids, 0])
    learner.ask_many(X[100:])
    headline = learner.report().headline
    assert headline.error is None
    assert headline.high > 0
    later = learner.outstanding[0]
    learner.tell(later, 500 + 100 * X[later, 0])
    assert learner.report().headline.error > 0
