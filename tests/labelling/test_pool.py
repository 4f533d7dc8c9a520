"""Rows of a pool: which are chosen, and what is said of them."""

import numpy as np
import pytest
from tests.refusals import refusal

from qufur.labelling import pool
from qufur.labelling.integrated_variance import greedy
from qufur.labelling.pool import choose
from qufur.labelling.reasons import most_different, reasons
from qufur.models.experts.scaling import units_of

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
X = np.repeat(CENTRES, [60, 30, 10], axis=0) + 0.1 * RNG.standard_normal((100, 2))
CLUSTER = np.repeat([0, 1, 2], [60, 30, 10])


def test_a_row_of_every_cluster_comes_first_the_largest_in_front():
    choice = choose(X, 3)
    assert CLUSTER[choice.rows].tolist() == [0, 1, 2]
    assert choice.share.tolist() == [0.6, 0.3, 0.1]
    assert choice.like.tolist() == [-1, 0, 0]
    scaled = units_of(X).transform(X)[choice.rows]
    np.testing.assert_allclose(choice.difference, [scaled[0], scaled[1] - scaled[0], scaled[2] - scaled[0]])


def test_an_outlier_is_not_worth_a_label():
    """The determinant would take it first."""
    far = np.vstack([X, [[60.0, 60.0]]])
    assert 100 not in choose(far, 3).rows


def test_units_offsets_and_constant_columns_do_not_matter():
    changed = np.column_stack([1e9 + 1e3 * X[:, 0], np.full(100, 7.0), 1e-3 * X[:, 1]])
    rows = choose(X, 10).rows
    assert choose(np.column_stack([X[:, 0], np.zeros(100), X[:, 1]]), 10).rows.tolist() == rows.tolist()
    assert choose(changed, 10).rows.tolist() == rows.tolist()


def test_known_rows_are_not_bought_again():
    choice = choose(X, 2, known=X[[0, 1]])
    assert CLUSTER[choice.rows].tolist() == [1, 2]
    assert choice.uncertainty[0] < 0.6
    assert choice.like.tolist() == [-1, -1]
    assert choice.share.tolist() == [0.3, 0.1]


def test_known_rows_are_like_rows_chosen_before():
    first = choose(X, 5)
    later = choose(np.delete(X, first.rows[:2], axis=0), 3, known=X[first.rows[:2]])
    left = np.delete(np.arange(100), first.rows[:2])
    # The mean is over two rows less, which makes no difference here.
    assert left[later.rows].tolist() == first.rows[2:].tolist()


def test_every_row_can_be_chosen_and_none_twice():
    choice = choose(X, 100)
    assert sorted(choice.rows) == list(range(100))
    assert len(choice.uncertainty) == 101
    assert (np.diff(choice.uncertainty) < 0).all()


def test_of_a_long_pool_some_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr(pool, "CANDIDATES", 30)
    rows = choose(X, 3, seed=1).rows
    places = np.random.default_rng(1).permutation(100)[:30]
    chosen, _ = greedy(units_of(X).transform(X)[places], X[:0], 3, references=30)
    assert rows.tolist() == places[chosen].tolist()
    assert rows.tolist() != choose(X, 3, seed=2).rows.tolist()


def test_beyond_a_number_rows_are_drawn_at_random(monkeypatch):
    for name in ("CANDIDATES", "MOST"):
        monkeypatch.setattr(pool, name, 10)
    choice = choose(X, 40)
    assert len(set(choice.rows)) == 40
    assert len(choice.uncertainty) == 11
    assert len(choice.share) == len(choice.like) == len(choice.difference) == 40
    said = reasons(choice, ["a", "b"], list(range(40)), [{}] * 40)
    assert ["at random" in text for text in said] == [False] * 10 + [True] * 30


@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.ones((1, 1)), np.array([[1e50], [-1e50], [1e-50]])])
def test_rows_that_are_the_same_or_of_any_size(rows):
    choice = choose(rows, len(rows))
    assert sorted(choice.rows) == list(range(len(rows)))
    assert np.isfinite(choice.uncertainty).all()
    assert (np.diff(choice.uncertainty) < 0).all()


def test_a_share_of_the_rows():
    assert len(choose(X, 0.05).rows) == 5


def test_inputs_are_not_written_to():
    fixed = X.copy()
    fixed.flags.writeable = False
    choose(fixed, 3, known=fixed[:2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: choose(X, 0), "budget of choose must be a whole number of labels of at least 1"),
        (lambda: choose(X, 101), "budget of choose must be at most 100 labels"),
        (lambda: choose([[np.nan]], 1), "X of choose must be"),
        (lambda: choose(X, 1, known=[[1.0]]), "X of choose must be of 2 columns"),
    ],
)
def test_bad_input_is_refused(call, message):
    assert message in refusal(call)


def test_reasons_name_the_row_and_the_columns():
    rows = [
        {"x": 1.0, "sky": "clear"},
        {"x": 2.5, "sky": "storm"},
        {"x": None, "sky": "a long, long story of it"},
    ]
    choice = pool.Choice(
        np.arange(3),
        np.array([1.0, 0.5, 0.4, 0.3]),
        np.array([0.6, 0.3, 0.1]),
        np.array([-1, 0, 1]),
        np.array([[0.0, 0.0], [1.0, 0.9], [0.0, 0.0]]),
    )
    assert reasons(choice, ["x", "sky"], ["LH1", "LH2", "LH3"], rows) == [
        "typical of many rows; 60.0% of rows are most like it; leaves 50.0% of the uncertainty",
        "unlike LH1 in x (2.5, not 1); 30.0% of rows are most like it; leaves 40.0% of the uncertainty",
        "once more what LH2 is; 10.0% of rows are most like it; leaves 30.0% of the uncertainty",
    ]


def test_columns_are_named_until_they_make_up_half():
    assert most_different(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), list("abcdefg")) == ["a", "b", "c"]
    assert most_different(np.array([1.0, 2.0, 1.0, 1.0]), list("abcd")) == ["b"]
    assert most_different(np.zeros(2), ["a", "b"]) == []
