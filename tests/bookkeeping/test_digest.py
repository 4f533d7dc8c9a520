"""The digest of a workbook: the same for the same history, and another for any other."""

import numpy as np
import pytest

from qufur import Learner, Ridge, Steady
from qufur.bookkeeping.corrections import forget_labels, retract
from qufur.bookkeeping.digest import state_digest
from qufur.bookkeeping.free_labels import Labelled, learn
from qufur.decisions import decisions_of
from qufur.rules.per_period import PerPeriod
from qufur.tables import Batch, Encoding
from qufur.workbook import Workbook

X = np.random.default_rng(2).normal(size=(60, 3)) / 2
NAMES = [f"r{row}" for row in range(60)]
ENCODING = Encoding.of([Batch({"a": ["1", "2"], "b": ["3", "5"], "c": ["1", "7"]})])


def asked(seed=0):
    book = Workbook(Learner(Ridge(3), Steady(0.4), seed=seed), ENCODING, "id", "y")
    book.ask_rows(X, NAMES)
    waiting = list(book.learner.outstanding)
    book.tell_known(waiting[:6], X[:6, 0], "the log")
    return book, waiting


def test_a_file_keeps_it(tmp_path):
    book, _ = asked()
    book.save(tmp_path / "book.qufur")
    assert state_digest(Workbook.load(tmp_path / "book.qufur")) == state_digest(book)


def test_it_is_the_same_in_every_release():
    book = Workbook(Learner(Ridge(3), Steady(0.4), seed=0), ENCODING, "id", "y")
    empty = state_digest(book)
    rows = {"a": np.array([1.0, 0.0, 2.0]), "b": np.ones(3)}
    learn(book, Labelled("a table", {"a": 0.5, "b": -0.25}, rows, 0))
    assert (empty[:16], state_digest(book)[:16]) == ("fd679896242cf834", "10547a3defac16c3")


def test_looking_does_not_change_it():
    book, waiting = asked()
    before = state_digest(book)
    book.learner.predict(X)
    book.learner.report()
    assert book.asked.known(waiting).all()
    assert state_digest(book) == before == state_digest(asked()[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda book, waiting: book.ask_rows(X[:1], ["new"]),
        lambda book, waiting: book.tell_known(waiting[6:7], np.array([0.5]), "the log"),
        lambda book, waiting: book.tell_known(waiting[:1], np.array([0.5]), "the log", replace=True),
        lambda book, waiting: retract(book, waiting[6:7]),
        lambda book, waiting: forget_labels(book, waiting[:1]),
        lambda book, waiting: book.learner.rng.random(),
    ],
    ids=["ask", "tell", "replace", "retract", "forget", "coin"],
)
def test_whatever_happens_changes_it(change):
    book, waiting = asked()
    before = state_digest(book)
    change(book, waiting)
    assert state_digest(book) != before


def test_labels_in_another_order_have_another():
    (one, waiting), (other, _) = asked(), asked()
    for name in waiting[6:8]:
        one.tell_known([name], np.array([0.5]), "the log")
    for name in waiting[7:5:-1]:
        other.tell_known([name], np.array([0.5]), "the log")
    assert state_digest(one) != state_digest(other)


def test_periods_are_replayed():
    when = np.repeat([3, 4, 5], 20)

    def book():
        return Workbook(Learner(Ridge(3), PerPeriod(5, 20)), ENCODING, "id", "y")

    one, other = book(), book()
    for part in (range(7), range(7, 8), range(8, 45), range(45, 60)):
        answers = one.ask_rows(X[part], part, when[part])
        other.replay(X[part], part, decisions_of(one.learner, answers), when[part])
        retract(one, one.learner.outstanding[:1])
        retract(other, other.learner.outstanding[:1])
    assert other.learner.spending.ended == 2
    assert state_digest(one) == state_digest(other)


def test_ids_as_they_are_known_are_told_as_others_are():
    (one, waiting), (other, _) = asked(), asked()
    told = one.tell(waiting[5:8], X[5:8, 0], "labels.csv")
    assert told == other.tell_known(waiting[5:8], X[5:8, 0], "labels.csv")
    assert state_digest(one) == state_digest(other)
    with pytest.raises(ValueError, match="outstanding"):
        other.tell_known([f" {waiting[9]}"], np.array([0.5]), "labels.csv")
