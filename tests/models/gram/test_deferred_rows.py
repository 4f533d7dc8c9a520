"""Rows that enter a matrix late: nobody can tell, but from the clock."""

import numpy as np
import pytest
from tests.same import same

from qufur import Learner, QuFUR, Ridge, snapshot
from qufur.models.gram.deferred_rows import DeferredRows
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram

DIM, ROWS = 5, 300
X = np.random.default_rng(8).normal(size=(ROWS, DIM)) / 2
Y = X @ np.linspace(-1, 1, DIM)


@pytest.fixture(autouse=True)
def late(monkeypatch):
    """Let rows of small matrices wait as well."""
    monkeypatch.setattr(InverseGram, "largest_prompt_dim", 0)


def learner_after(rows):
    """Return a learner that computes M⁻¹ anew within the rows there are, while some are late."""
    learner = Learner(Ridge(DIM, regularization=0.1), QuFUR(1e3), seed=3)
    learner.learn(X[:7], Y[:7])  # from here on there is an M⁻¹
    learner.learn(X[:9], Y[:9])
    for x, y in zip(X[:rows], Y[:rows], strict=True):
        step(learner, x, y)
    return learner


def step(learner, x, y):
    answer = learner.ask(x)
    if answer.query:
        learner.tell(answer.id, y)
    return answer


def waiting(learner):
    return len(snapshot.encode(learner)[1]["state.labelled.late"])


def test_answers_are_those_of_a_matrix_that_is_up_to_date(monkeypatch):
    late, counts = followed()
    monkeypatch.setattr(InverseGram, "largest_prompt_dim", DIM)
    prompt, none = followed()
    assert (counts, none) == (set(range(InverseGram.late_at_once)), {0})
    for one, other in zip(late, prompt, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def followed():
    """Return all that can be seen of a learner step by step, and how many rows waited."""
    learner, seen, counts = learner_after(0), [], set()
    for x, y in zip(X, Y, strict=True):
        gram = learner.state.queried
        seen += [step(learner, x, y), learner.uncertainty(X), gram.solve(X), gram.variance(x[None])]
        if isinstance(gram.form, InverseGram):
            counts.add(waiting(learner))
    return seen, counts


def test_labels_that_come_late_find_all_rows_there():
    late = learner_after(60)
    asked = [late.ask(x) for x in X[60:90]]
    late.tell_many(late.outstanding, [Y[60 + i] for i, a in enumerate(asked) if a.query])
    form = late.state.queried.form
    M = np.triu(form.gram) + np.triu(form.gram, 1).T + form.recent.T @ form.recent
    np.testing.assert_allclose(form.solve(np.eye(DIM)), np.linalg.inv(M), rtol=0, atol=1e-12)
    triangle = np.triu(form.up_to_date_inverse())
    assert waiting(late) == 0
    np.testing.assert_allclose(triangle, np.triu(np.linalg.inv(M)), rtol=0, atol=1e-12)


def test_looking_and_saving_change_no_bit(tmp_path):
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
    assert waiting(watched) > 0
    assert same(left_alone, watched)


def test_rows_that_take_off_nearly_all_cost_no_digits():
    gram, M = Gram(1, 1e-3), 1e-3
    for x in (1.0, *np.logspace(1, 8, 8)):
        gram.add(np.array([[x]]), np.array([0.0]))
        M += x**2
        assert isinstance(gram.form, InverseGram)
        np.testing.assert_allclose(gram.variance(np.ones((1, 1))), 1 / M, rtol=1e-12)


@pytest.mark.parametrize("size", [40, 8])
def test_blocks_find_all_rows_there(size):
    one_by_one, blocks = learner_after(100), learner_after(100)
    assert waiting(blocks) > 0
    asked = [one_by_one.ask(x) for x in X[100:140]]
    answers = [
        answer for start in range(100, 140, size) for answer in blocks.ask_many(X[start : start + size][:40])
    ]
    for one, other in zip(asked, answers, strict=True):
        assert (one.id, one.query) == (other.id, other.query)
        np.testing.assert_allclose(one[1:], other[1:], rtol=0, atol=1e-12)


def test_files_of_older_versions_have_no_late_rows(tmp_path):
    learner = learner_after(100)
    assert waiting(learner) > 0
    _ = learner.state.labelled.form.up_to_date_inverse()  # in which no row is late
    assert waiting(learner) == 0
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
        part = X[start : start + size]
        rows.add_one(part[0], matrix) if size == 1 else rows.add(part, matrix)
        start += size
        waiting = np.triu(rows.rows.T @ rows.rows)
        assert len(rows.rows) < 4
        expected = np.triu(X[:start].T @ X[:start])
        np.testing.assert_allclose(matrix + sign * waiting, sign * expected, atol=1e-12)
