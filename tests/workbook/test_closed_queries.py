"""A query closed without a label keeps its terms; a label that arrives later is learned on them."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LinearRegression

from qufur import Experts, KernelRidge, Learner, Refit, Ridge, Steady
from qufur.models.capabilities import KeepsPurchases
from qufur.tables import Encoding
from qufur.workbook import Workbook
from qufur.workbook.classes import name_classes
from qufur.workbook.corrections import FreeLabels, forget_labels, learn, retract

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

    def do(workbook):
        if not request.param:
            return workbook
        workbook.save(tmp_path / "s.qufur")
        return Workbook.load(tmp_path / "s.qufur")

    return do


def label(name, place):
    value = float(X[place] @ [1.0, -0.5, 0.2] + 0.3 * np.sin(7.0 * place))
    return float(value > 0) if "classes" in name else value


def other(name, place):
    return 1 - label(name, place) if "classes" in name else label(name, place) + 0.7


def tell(workbook, name, ids, told=label, **options):
    workbook.tell(ids, np.array([told(name, int(id[1:])) for id in ids]), "labels", **options)


def learn_again(workbook, name, ids, told=label):
    places = [int(id[1:]) for id in ids]
    rows = dict(zip(ids, X[places], strict=True))
    return learn(workbook, FreeLabels("labels", {id: told(name, int(id[1:])) for id in ids}, rows, 0))


def started_workbook(name):
    """Return a workbook with 40 processed rows, the ids of its labels, and the ids of its pending rows."""
    workbook = Workbook(Learner(MODELS[name], Steady(0.5), seed=3), Encoding(()), "id", "y")
    for start in range(0, 40, 10):
        ids = [f"r{place}" for place in range(start, start + 10)]
        workbook.ask_rows(X[start : start + 10], ids)
        tell(workbook, name, list(workbook.learner.outstanding)[: 8 if start < 30 else 2])
    return workbook, list(workbook.labels), list(workbook.learner.outstanding)


def continue_workbook(workbook, name):
    """Process further rows after a correction, and learn some of their labels."""
    workbook.ask_rows(X[40:], [f"r{place}" for place in range(40, len(X))])
    tell(workbook, name, list(workbook.learner.outstanding)[:9])
    return workbook


def purchase(workbook, id):
    """Return the terms of purchase of a label as the model stores them; None if it does not."""
    if not isinstance(workbook.learner.state, KeepsPurchases):
        return None
    return workbook.learner.state.purchases_at([list(workbook.labels).index(id)])


def assert_same_terms(loaded, expected, name):
    for workbook in (loaded, expected):
        assert not workbook.closed
    mine, theirs = loaded.learner.ledger, expected.learner.ledger
    for number in ("examples", "answered", "retracted", "beyond", "uncertainty", "probability", "loss_seen"):
        assert getattr(mine, number) == pytest.approx(getattr(theirs, number)), number
    sums = [workbook.learner.ledger.estimate().state()["sums"] for workbook in (loaded, expected)]
    np.testing.assert_allclose(*sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(*(np.sort(each.errors.rows, axis=0) for each in (mine, theirs)))
    reports = [workbook.learner.report() for workbook in (loaded, expected)]
    for part in ("loss", "interval", "covered", "labelled_loss", "labels", "retracted", "left"):
        assert getattr(reports[0], part) == pytest.approx(getattr(reports[1], part)), part
    if "classes" not in name:
        assert mine.likely_error(0.9) == pytest.approx(theirs.likely_error(0.9))
    assert set(loaded.labels) == set(expected.labels)
    for id in loaded.labels:
        np.testing.assert_allclose(loaded.labels[id][:4], expected.labels[id][:4])
        np.testing.assert_array_equal(loaded.labels[id].row, expected.labels[id].row)
        np.testing.assert_array_equal(*(purchase(workbook, id) for workbook in (loaded, expected)))
    if loaded.learner.model.tags.label_free:
        np.testing.assert_allclose(
            *(workbook.learner.uncertainty(X) for workbook in (loaded, expected)), rtol=1e-7
        )
    if name in EXACT:
        predictions = [workbook.learner.predict(X) for workbook in (loaded, expected)]
        np.testing.assert_allclose(*predictions, rtol=1e-7, atol=1e-9)


def test_label_told_again_restores_the_ledger(name, reopened):
    expected, _, _ = started_workbook(name)
    workbook, told, _ = started_workbook(name)
    forget_labels(workbook, told[1:6:2])
    workbook = reopened(workbook)
    assert len(workbook.closed) == 3
    learned = learn_again(workbook, name, told[1:6:2])
    assert (learned.free, learned.outstanding) == (0, 3)
    assert_same_terms(reopened(workbook), expected, name)


def test_different_label_after_removal_counts_as_replaced(name, reopened):
    expected, told, _ = started_workbook(name)
    tell(expected, name, told[2:4], other, replace=True)
    workbook, _, _ = started_workbook(name)
    forget_labels(workbook, told[2:4])
    workbook = reopened(workbook)
    for id in told[2:4]:
        learn_again(workbook, name, [id], other)
    assert_same_terms(workbook, expected, name)
    # A label learned again can be replaced and removed like any other.
    tell(workbook, name, told[2:3], label, replace=True)
    forget_labels(workbook, told[3:4])
    tell(expected, name, told[2:4], label, replace=True)
    learn_again(workbook, name, told[3:4])
    assert_same_terms(workbook, expected, name)


def test_label_of_retracted_query_counts_on_its_terms_and_costs_nothing(name, reopened):
    expected, _, pending = started_workbook(name)
    workbook, _, _ = started_workbook(name)
    spent, few = workbook.learner.spent, pending[:2]
    retract(workbook, few)
    workbook = reopened(workbook)
    assert workbook.learner.spent == spent - 2
    learn_again(workbook, name, few)
    assert workbook.learner.spent == spent - 2
    tell(expected, name, few)
    assert (expected.learner.report().labels, workbook.learner.report().labels) == (spent, spent - 2)
    workbook.learner.spending.spent, workbook.learner.spending.charged = (
        spent,
        expected.learner.spending.charged,
    )
    assert_same_terms(workbook, expected, name)


def test_workbook_continues_after_a_late_label(name, reopened):
    workbook, told, _ = started_workbook(name)
    forget_labels(workbook, told[:2])
    learn_again(workbook, name, told[:1])
    workbook = continue_workbook(reopened(workbook), name)
    learn_again(workbook, name, told[1:2])
    ledger = workbook.learner.ledger
    assert (ledger.examples, ledger.answered, ledger.retracted) == (80, len(workbook.labels), 0)
    assert not np.isnan(workbook.labels.numbers).any()


def test_free_labels_stay_free(name):
    workbook, _, _ = started_workbook(name)
    learn_again(workbook, name, ["r70"])
    forget_labels(workbook, ["r70"])
    assert not workbook.closed
    answered = workbook.learner.ledger.answered
    learn_again(workbook, name, ["r70"])
    assert workbook.learner.ledger.answered == answered
    assert np.isnan(workbook.labels["r70"].probability)


def test_predictions_of_closed_queries_are_void_once_labels_become_classes():
    workbook = Workbook(Learner(Experts(3), Steady(0.5), seed=3), Encoding(()), "id", "y")
    workbook.ask_rows(X[:20], [f"r{place}" for place in range(20)])
    pending = list(workbook.learner.outstanding)
    retract(workbook, pending[:2])
    name_classes(workbook, ["no", "yes"])
    workbook.tell(pending[2:], np.arange(len(pending) - 2) % 2.0, "labels")
    learn_again(workbook, "experts with classes", pending[:2])
    assert workbook.labels[pending[0]][1:4] == (0.0, workbook.labels[pending[0]].probability, 0.0)
    assert workbook.learner.ledger.answered == len(pending)
    assert workbook.learner.report().covered == 0


def test_files_without_closed_queries_load(tmp_path):
    workbook, told, _ = started_workbook("ridge")
    forget_labels(workbook, told[:1])
    header, tensors = workbook.content()
    del header["workbook"]["closed"], tensors["workbook.closed"]
    loaded = Workbook.from_content((header, tensors))
    assert loaded.closed == {}
    assert learn_again(loaded, "ridge", told[:1]).free == 1
