"""Queries that were closed without a label keep their terms, and a label that arrives later has them."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LinearRegression

from qufur import Experts, KernelRidge, Learner, Refit, Ridge, Steady
from qufur.bookkeeping.classes import name_classes
from qufur.bookkeeping.corrections import forget_labels, retract
from qufur.bookkeeping.free_labels import Labelled, learn
from qufur.tables import Encoding
from qufur.workbook import Workbook

X = np.random.default_rng(5).normal(size=(80, 3))
MODELS = {
    "ridge": Ridge(3, label_range=(-3, 3), intercept=True),
    "kernel": KernelRidge(RBF(2.0), dim=3, label_range=(-3, 3)),
    "experts": Experts(3),
    "experts with a range": Experts(3, label_range=(-3, 3)),
    "experts with classes": Experts(3, classes=("no", "yes")),
    "refit": Refit(LinearRegression(), label_range=(-3, 3)),
}
EXACT = "ridge", "kernel"
"""Models whose predictions do not depend on the order of labels."""
pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["in memory", "saved and loaded"])
def reopened(request, tmp_path):
    """Pass a workbook through a file, or leave it unchanged."""

    def do(book):
        if not request.param:
            return book
        book.save(tmp_path / "s.qufur")
        return Workbook.load(tmp_path / "s.qufur")

    return do


def label(name, place):
    value = float(X[place] @ [1.0, -0.5, 0.2] + 0.3 * np.sin(7.0 * place))
    return float(value > 0) if "classes" in name else value


def other(name, place):
    return 1 - label(name, place) if "classes" in name else label(name, place) + 0.7


def tell(book, name, ids, told=label, **options):
    book.tell(ids, np.array([told(name, int(id[1:])) for id in ids]), "labels", **options)


def learn_again(book, name, ids, told=label):
    places = [int(id[1:]) for id in ids]
    rows = dict(zip(ids, X[places], strict=True))
    return learn(book, Labelled("labels", {id: told(name, int(id[1:])) for id in ids}, rows, 0))


def begun(name):
    """Return a workbook with 40 rows asked about, most of them labelled, and the ids of both kinds."""
    book = Workbook(Learner(MODELS[name], Steady(0.5), seed=3), Encoding(()), "id", "y")
    for start in range(0, 40, 10):
        ids = [f"r{place}" for place in range(start, start + 10)]
        book.ask_rows(X[start : start + 10], ids)
        tell(book, name, list(book.learner.outstanding)[: 8 if start < 30 else 2])
    return book, list(book.told), list(book.learner.outstanding)


def continued(book, name):
    """Ask about further rows after a correction, and tell their labels."""
    book.ask_rows(X[40:], [f"r{place}" for place in range(40, len(X))])
    tell(book, name, list(book.learner.outstanding)[:9])
    return book


def purchase(book, id):
    """Return what the model knows of the terms on which a label was bought."""
    return book.learner.state.purchases_at([list(book.told).index(id)])


def assert_same_terms(found, expected, name):
    for book in (found, expected):
        assert not book.closed
    mine, theirs = found.learner.ledger, expected.learner.ledger
    for number in ("examples", "answered", "retracted", "beyond", "uncertainty", "probability", "loss_seen"):
        assert getattr(mine, number) == pytest.approx(getattr(theirs, number)), number
    sums = [book.learner.ledger.estimate().state()["sums"] for book in (found, expected)]
    np.testing.assert_allclose(*sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(*(np.sort(each.errors.rows, axis=0) for each in (mine, theirs)))
    reports = [book.learner.report() for book in (found, expected)]
    for part in ("loss", "interval", "covered", "labelled_loss", "labels", "retracted", "left"):
        assert getattr(reports[0], part) == pytest.approx(getattr(reports[1], part)), part
    if "classes" not in name:
        assert mine.likely_error(0.9) == pytest.approx(theirs.likely_error(0.9))
    assert set(found.told) == set(expected.told)
    for id in found.told:
        np.testing.assert_allclose(found.told[id][:4], expected.told[id][:4])
        np.testing.assert_array_equal(found.told[id].row, expected.told[id].row)
        np.testing.assert_array_equal(*(purchase(book, id) for book in (found, expected)))
    if found.learner.model.label_free:
        np.testing.assert_allclose(*(book.learner.uncertainty(X) for book in (found, expected)), rtol=1e-7)
    if name in EXACT:
        predictions = [book.learner.predict(X) for book in (found, expected)]
        np.testing.assert_allclose(*predictions, rtol=1e-7, atol=1e-9)


def test_label_given_again_leaves_the_books_as_if_never_removed(name, reopened):
    expected, _, _ = begun(name)
    book, told, _ = begun(name)
    forget_labels(book, told[1:6:2])
    book = reopened(book)
    assert len(book.closed) == 3
    learned = learn_again(book, name, told[1:6:2])
    assert (learned.free, learned.outstanding) == (0, 3)
    assert_same_terms(reopened(book), expected, name)


def test_other_label_given_after_removal_counts_as_a_replaced_one(name, reopened):
    expected, told, _ = begun(name)
    tell(expected, name, told[2:4], other, replace=True)
    book, _, _ = begun(name)
    forget_labels(book, told[2:4])
    book = reopened(book)
    for id in told[2:4]:
        learn_again(book, name, [id], other)
    assert_same_terms(book, expected, name)
    # A label that returned is replaced, and removed, like any other.
    tell(book, name, told[2:3], label, replace=True)
    forget_labels(book, told[3:4])
    tell(expected, name, told[2:4], label, replace=True)
    learn_again(book, name, told[3:4])
    assert_same_terms(book, expected, name)


def test_label_of_retracted_query_counts_on_its_terms_and_costs_nothing(name, reopened):
    expected, _, waiting = begun(name)
    book, _, _ = begun(name)
    spent, few = book.learner.spent, waiting[:2]
    retract(book, few)
    book = reopened(book)
    assert book.learner.spent == spent - 2
    learn_again(book, name, few)
    assert book.learner.spent == spent - 2
    tell(expected, name, few)
    assert (expected.learner.report().labels, book.learner.report().labels) == (spent, spent - 2)
    book.learner.spending.spent, book.learner.spending.charged = spent, expected.learner.spending.charged
    assert_same_terms(book, expected, name)


def test_work_continues_after_a_label_returned(name, reopened):
    book, told, _ = begun(name)
    forget_labels(book, told[:2])
    learn_again(book, name, told[:1])
    book = continued(reopened(book), name)
    learn_again(book, name, told[1:2])
    ledger = book.learner.ledger
    assert (ledger.examples, ledger.answered, ledger.retracted) == (80, len(book.told), 0)
    assert not np.isnan(book.told.numbers).any()


def test_free_labels_stay_free(name):
    book, _, _ = begun(name)
    learn_again(book, name, ["r70"])
    forget_labels(book, ["r70"])
    assert not book.closed
    answered = book.learner.ledger.answered
    learn_again(book, name, ["r70"])
    assert book.learner.ledger.answered == answered
    assert np.isnan(book.told["r70"].probability)


def test_predictions_of_closed_queries_are_void_once_labels_become_classes():
    book = Workbook(Learner(Experts(3), Steady(0.5), seed=3), Encoding(()), "id", "y")
    book.ask_rows(X[:20], [f"r{place}" for place in range(20)])
    waiting = list(book.learner.outstanding)
    retract(book, waiting[:2])
    name_classes(book, ["no", "yes"])
    book.tell(waiting[2:], np.arange(len(waiting) - 2) % 2.0, "labels")
    learn_again(book, "experts with classes", waiting[:2])
    assert book.told[waiting[0]][1:4] == (0.0, book.told[waiting[0]].probability, 0.0)
    assert book.learner.ledger.answered == len(waiting)
    assert book.learner.report().covered == 0


def test_files_without_closed_queries_load(tmp_path):
    book, told, _ = begun("ridge")
    forget_labels(book, told[:1])
    header, tensors = book.content()
    del header["workbook"]["closed"], tensors["workbook.closed"]
    found = Workbook.from_content((header, tensors))
    assert found.closed == {}
    assert learn_again(found, "ridge", told[:1]).free == 1
