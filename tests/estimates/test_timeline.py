"""Timeline of a run: bounded, and independent of how rows are batched."""

from types import SimpleNamespace

import numpy as np
import pytest

from qufur import Experts, Learner, Ridge, Steady, Uniform
from qufur.estimates import timeline
from qufur.estimates.timeline import MAX_POINTS, Point, Timeline, point


def test_timeline_spending_does_not_depend_on_batches():
    rng = np.random.default_rng(0)
    query = rng.random(3001) < 0.1
    whole = Timeline()
    whole.ask(query)
    for cuts in ([1], range(1, 3001), sorted(rng.integers(0, 3001, 30))):
        other = Timeline()
        for part in np.split(query, cuts):
            other.ask(part)
        assert other == whole
    assert MAX_POINTS / 2 <= len(whole.spent) <= MAX_POINTS
    rows, labels = whole.spending()
    assert (rows[0], labels[0], rows[-1], labels[-1]) == (0, 0, 3001, query.sum())
    assert [int(query[:row].sum()) for row in rows] == labels


def test_timeline_starts_with_earlier_totals():
    later = Timeline(first=100, before=7)
    later.ask(np.array([True, False, True]))
    assert later.spending() == ([100, 101, 102, 103, 103], [7, 8, 8, 9, 9])


def test_timeline_points_are_thinned(monkeypatch):
    monkeypatch.setattr(timeline, "point", lambda learner: Point(1, learner.ledger.answered, 0.5))
    kept = Timeline()
    for labels in range(1000):
        kept.note(SimpleNamespace(ledger=SimpleNamespace(answered=labels)))
    assert len(kept.points) <= MAX_POINTS
    apart = np.diff([one.labels for one in kept.points])
    assert set(apart) == {kept.every}
    assert kept.every == 8


def test_restored_timeline_is_equal():
    kept = Timeline(points=[Point(5, 2, 0.5, weights={"trees": 1.0}), Point(9, 3, None)])
    kept.ask(np.array([True] * 500))
    assert Timeline.restored(kept.save()) == kept


@pytest.mark.parametrize("model", [Ridge(2, label_range=(0, 4)), Experts(2)])
def test_timeline_point_equals_the_report(model):
    learner = Learner(model, Uniform(0.5) if isinstance(model, Ridge) else Steady(0.5), seed=0)
    X = np.random.default_rng(0).normal(size=(60, 2))
    first = point(learner)
    assert (first.rows, first.labels, first.error) == (0, 0, None)
    for part in np.split(X, 3):
        answers = learner.ask_many(part)
        places = answers.query.nonzero()[0]
        learner.tell_many([answers.id[place] for place in places], 2 + part[places, 0])
    found, report = point(learner), learner.report()
    assert (found.rows, found.labels) == (60, learner.ledger.answered)
    assert (found.error, found.low, found.high) == report.headline[:3]
    assert found.error == pytest.approx(report.loss**0.5)
    assert found.low <= found.error <= found.high
    if report.ensemble_report is not None:
        assert sum(found.weights.values()) <= 1.001
        assert next(iter(found.weights)) == report.ensemble_report.names[report.ensemble_report.heaviest[0]]
