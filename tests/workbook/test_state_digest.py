"""The digest of a workbook is equal for equal histories and different for different ones."""

import numpy as np
import pytest

from qufur import Learner, Ridge, Steady
from qufur.replay import record_decisions
from qufur.rules.per_period import PerPeriod
from qufur.tables import Batch, Encoding
from qufur.workbook import Workbook
from qufur.workbook.content import state_digest
from qufur.workbook.corrections import FreeLabels, forget_labels, learn, retract

X = np.random.default_rng(2).normal(size=(60, 3)) / 2
NAMES = [f"r{row}" for row in range(60)]
ENCODING = Encoding.of([Batch({"a": ["1", "2"], "b": ["3", "5"], "c": ["1", "7"]})])


def asked(seed=0):
    workbook = Workbook(Learner(Ridge(3), Steady(0.4), seed=seed), ENCODING, "id", "y")
    workbook.ask_rows(X, NAMES)
    waiting = list(workbook.learner.outstanding)
    workbook.tell(waiting[:6], X[:6, 0], "the log", exact_ids=True)
    return workbook, waiting


def test_digest_survives_save_and_load(tmp_path):
    workbook, _ = asked()
    workbook.save(tmp_path / "book.qufur")
    assert state_digest(Workbook.load(tmp_path / "book.qufur")) == state_digest(workbook)


def test_digest_is_stable_across_releases():
    workbook = Workbook(Learner(Ridge(3), Steady(0.4), seed=0), ENCODING, "id", "y")
    empty = state_digest(workbook)
    rows = {"a": np.array([1.0, 0.0, 2.0]), "b": np.ones(3)}
    learn(workbook, FreeLabels("a table", {"a": 0.5, "b": -0.25}, rows, 0))
    assert (empty[:16], state_digest(workbook)[:16]) == ("fd679896242cf834", "10547a3defac16c3")


def test_predict_does_not_change_the_digest():
    workbook, waiting = asked()
    before = state_digest(workbook)
    workbook.learner.predict(X)
    workbook.learner.report()
    assert workbook.seen_ids.seen(waiting).all()
    assert state_digest(workbook) == before == state_digest(asked()[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda workbook, waiting: workbook.ask_rows(X[:1], ["new"]),
        lambda workbook, waiting: workbook.tell(waiting[6:7], np.array([0.5]), "the log", exact_ids=True),
        lambda workbook, waiting: workbook.tell(waiting[:1], np.array([0.5]), "the log", replace=True),
        lambda workbook, waiting: retract(workbook, waiting[6:7]),
        lambda workbook, waiting: forget_labels(workbook, waiting[:1]),
        lambda workbook, waiting: workbook.learner.rng.random(),
    ],
    ids=["ask", "tell", "replace", "retract", "forget", "coin"],
)
def test_digest_changes_with_every_operation(change):
    workbook, waiting = asked()
    before = state_digest(workbook)
    change(workbook, waiting)
    assert state_digest(workbook) != before


def test_digest_depends_on_the_order_of_labels():
    (one, waiting), (other, _) = asked(), asked()
    for name in waiting[6:8]:
        one.tell([name], np.array([0.5]), "the log", exact_ids=True)
    for name in waiting[7:5:-1]:
        other.tell([name], np.array([0.5]), "the log", exact_ids=True)
    assert state_digest(one) != state_digest(other)


def test_periods_are_replayed():
    when = np.repeat([3, 4, 5], 20)

    def workbook():
        return Workbook(Learner(Ridge(3), PerPeriod(5, 20)), ENCODING, "id", "y")

    one, other = workbook(), workbook()
    for part in (range(7), range(7, 8), range(8, 45), range(45, 60)):
        answers = one.ask_rows(X[part], part, when[part])
        other.replay(X[part], part, record_decisions(one.learner, answers), when[part])
        retract(one, one.learner.outstanding[:1])
        retract(other, other.learner.outstanding[:1])
    assert other.learner.spending.ended == 2
    assert state_digest(one) == state_digest(other)


def test_tell_with_exact_ids_equals_tell():
    (one, waiting), (other, _) = asked(), asked()
    told = one.tell(waiting[5:8], X[5:8, 0], "labels.csv")
    assert told == other.tell(waiting[5:8], X[5:8, 0], "labels.csv", exact_ids=True)
    assert state_digest(one) == state_digest(other)
    with pytest.raises(ValueError, match="outstanding"):
        other.tell([f" {waiting[9]}"], np.array([0.5]), "labels.csv", exact_ids=True)
