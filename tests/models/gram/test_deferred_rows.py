"""Tests of deferred rows: results equal those of a matrix that is updated immediately."""

import numpy as np
import pytest
from tests.same import same

from qufur import Learner, QuFUR, Ridge, snapshot
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import DeferredRows, InverseGram

DIM, ROWS = 5, 300
X = np.random.default_rng(8).normal(size=(ROWS, DIM)) / 2
Y = X @ np.linspace(-1, 1, DIM)


@pytest.fixture(autouse=True)
def defer_rows_of_small_matrices(monkeypatch):
    """Defer rows of small matrices too."""
    monkeypatch.setattr(InverseGram, "max_immediate_dim", 0)


def learner_after(rows):
    """Return a learner after `rows` rows, some of them deferred; within `X` it recomputes M⁻¹."""
    learner = Learner(Ridge(DIM, regularization=0.1), QuFUR(1e3), seed=3)
    learner.learn(X[:7], Y[:7])  # the form is now the inverse
    learner.learn(X[:9], Y[:9])
    for x, y in zip(X[:rows], Y[:rows], strict=True):
        step(learner, x, y)
    return learner


def step(learner, x, y):
    answer = learner.ask(x)
    if answer.query:
        learner.tell(answer.id, y)
    return answer


def deferred_count(learner):
    return len(snapshot.encode(learner)[1]["state.labelled.late"])


def test_deferred_rows_give_the_answers_of_an_updated_matrix(monkeypatch):
    late, counts = trajectory()
    monkeypatch.setattr(InverseGram, "max_immediate_dim", DIM)
    prompt, none = trajectory()
    assert (counts, none) == (set(range(InverseGram.deferred_updates)), {0})
    for actual, expected in zip(late, prompt, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


def trajectory():
    """Return the results of a learner step by step, and the numbers of deferred rows."""
    learner, results, counts = learner_after(0), [], set()
    for x, y in zip(X, Y, strict=True):
        gram = learner.state.queried
        results += [step(learner, x, y), learner.uncertainty(X), gram.solve(X), gram.variance(x[None])]
        if isinstance(gram.form, InverseGram):
            counts.add(deferred_count(learner))
    return results, counts


def test_late_labels_see_all_deferred_rows():
    late = learner_after(60)
    answers = [late.ask(x) for x in X[60:90]]
    late.tell_many(late.outstanding, [Y[60 + i] for i, a in enumerate(answers) if a.query])
    form = late.state.queried.form
    M = np.triu(form.gram) + np.triu(form.gram, 1).T + form.recent.T @ form.recent
    np.testing.assert_allclose(form.solve(np.eye(DIM)), np.linalg.inv(M), rtol=0, atol=1e-12)
    triangle = np.triu(form.up_to_date_inverse())
    assert deferred_count(late) == 0
    np.testing.assert_allclose(triangle, np.triu(np.linalg.inv(M)), rtol=0, atol=1e-12)


def test_reading_and_saving_change_no_bit(tmp_path):
    left_alone, watched = learner_after(0), learner_after(0)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        step(left_alone, x, y)
        answer = watched.ask(x)
        watched.uncertainty(X), watched.predict(X), watched.report()
        if i % 7 == 0:
            watched.save(tmp_path / "learner")
            watched = Learner.load(tmp_path / "learner")
        if answer.query:
            watched.tell(answer.id, y)
    assert deferred_count(watched) > 0
    assert same(left_alone, watched)


def test_rows_that_cancel_most_of_the_inverse_lose_no_precision():
    gram, M = Gram(1, 1e-3), 1e-3
    for x in (1.0, *np.logspace(1, 8, 8)):
        gram.add(np.array([[x]]), np.array([0.0]))
        M += x**2
        assert isinstance(gram.form, InverseGram)
        np.testing.assert_allclose(gram.variance(np.ones((1, 1))), 1 / M, rtol=1e-12)


@pytest.mark.parametrize("size", [40, 8])
def test_blocks_see_all_deferred_rows(size):
    one_by_one, blocks = learner_after(100), learner_after(100)
    assert deferred_count(blocks) > 0
    answers_one_by_one = [one_by_one.ask(x) for x in X[100:140]]
    answers = [
        answer for start in range(100, 140, size) for answer in blocks.ask_many(X[start : start + size][:40])
    ]
    for actual, expected in zip(answers_one_by_one, answers, strict=True):
        assert (actual.id, actual.query) == (expected.id, expected.query)
        np.testing.assert_allclose(actual[1:], expected[1:], rtol=0, atol=1e-12)


def test_files_of_older_versions_load_without_late_rows(tmp_path):
    learner = learner_after(100)
    assert deferred_count(learner) > 0
    _ = learner.state.labelled.form.up_to_date_inverse()  # applies all deferred rows
    assert deferred_count(learner) == 0
    values, arrays = learner.state.save()
    del arrays["labelled.late"]
    old = Ridge(DIM, regularization=0.1).start()
    old.restore(values, arrays)
    np.testing.assert_array_equal(old.uncertainty(X), learner.uncertainty(X))


@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1], [2, 1, 4, 3], [5], [3, 1], [1, 3, 1]])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_every_row_enters_once(sizes, sign):
    matrix, rows = np.zeros((DIM, DIM), order="F"), DeferredRows(room=4, dim=DIM, sign=sign)
    start = 0
    for size in sizes:
        rows.add(X[start : start + size], matrix)
        start += size
        deferred = np.triu(rows.rows.T @ rows.rows)
        assert len(rows.rows) < 4
        expected = np.triu(X[:start].T @ X[:start])
        np.testing.assert_allclose(matrix + sign * deferred, sign * expected, atol=1e-12)
