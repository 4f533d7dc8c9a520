"""Choice of rows from a pool, and the reasons for it."""

import numpy as np
import pytest
from tests.refusals import refusal

from qufur.labelling import pool
from qufur.labelling.pool import choose, greedy, most_different, reasons
from qufur.models.ensemble.scaling import units_of

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
X = np.repeat(CENTRES, [60, 30, 10], axis=0) + 0.1 * RNG.standard_normal((100, 2))
CLUSTER = np.repeat([0, 1, 2], [60, 30, 10])


def test_choose_takes_one_row_per_cluster_largest_cluster_first():
    choice = choose(X, 3)
    assert CLUSTER[choice.rows].tolist() == [0, 1, 2]
    assert choice.share.tolist() == [0.6, 0.3, 0.1]
    assert choice.like.tolist() == [-1, 0, 0]
    scaled = units_of(X).transform(X)[choice.rows]
    np.testing.assert_allclose(choice.difference, [scaled[0], scaled[1] - scaled[0], scaled[2] - scaled[0]])


def test_choose_skips_outliers():
    """The greedy log-determinant would choose it first."""
    far = np.vstack([X, [[60.0, 60.0]]])
    assert 100 not in choose(far, 3).rows


def test_choose_ignores_units_offsets_and_constant_columns():
    changed = np.column_stack([1e9 + 1e3 * X[:, 0], np.full(100, 7.0), 1e-3 * X[:, 1]])
    rows = choose(X, 10).rows
    assert choose(np.column_stack([X[:, 0], np.zeros(100), X[:, 1]]), 10).rows.tolist() == rows.tolist()
    assert choose(changed, 10).rows.tolist() == rows.tolist()


def test_choose_skips_clusters_with_known_rows():
    choice = choose(X, 2, known=X[[0, 1]])
    assert CLUSTER[choice.rows].tolist() == [1, 2]
    assert choice.uncertainty[0] < 0.6
    assert choice.like.tolist() == [-1, -1]
    assert choice.share.tolist() == [0.3, 0.1]


def test_choose_treats_known_rows_like_earlier_choices():
    first = choose(X, 5)
    later = choose(np.delete(X, first.rows[:2], axis=0), 3, known=X[first.rows[:2]])
    left = np.delete(np.arange(100), first.rows[:2])
    # The mean is over two rows fewer, which does not change the choice.
    assert left[later.rows].tolist() == first.rows[2:].tolist()


def test_choose_returns_every_row_once_when_the_budget_is_the_pool():
    choice = choose(X, 100)
    assert sorted(choice.rows) == list(range(100))
    assert len(choice.uncertainty) == 101
    assert (np.diff(choice.uncertainty) < 0).all()


def test_choose_samples_candidates_from_a_long_pool(monkeypatch):
    monkeypatch.setattr(pool, "CANDIDATES", 30)
    rows = choose(X, 3, seed=1).rows
    candidates = np.random.default_rng(1).permutation(100)[:30]
    chosen, _ = greedy(units_of(X).transform(X)[candidates], X[:0], 3, references=30)
    assert rows.tolist() == candidates[chosen].tolist()
    assert rows.tolist() != choose(X, 3, seed=2).rows.tolist()


def test_choose_draws_rows_beyond_the_limit_at_random(monkeypatch):
    for name in ("CANDIDATES", "MAX_GREEDY_ROWS"):
        monkeypatch.setattr(pool, name, 10)
    choice = choose(X, 40)
    assert len(set(choice.rows)) == 40
    assert len(choice.uncertainty) == 11
    assert len(choice.share) == len(choice.like) == len(choice.difference) == 40
    texts = reasons(choice, ["a", "b"], list(range(40)), [{}] * 40)
    assert ["at random" in text for text in texts] == [False] * 10 + [True] * 30


@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.ones((1, 1)), np.array([[1e50], [-1e50], [1e-50]])])
def test_choose_handles_identical_and_extreme_rows(rows):
    choice = choose(rows, len(rows))
    assert sorted(choice.rows) == list(range(len(rows)))
    assert np.isfinite(choice.uncertainty).all()
    assert (np.diff(choice.uncertainty) < 0).all()


def test_choose_accepts_a_share_as_budget():
    assert len(choose(X, 0.05).rows) == 5


def test_choose_does_not_modify_its_inputs():
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
def test_choose_rejects_invalid_arguments(call, message):
    assert message in refusal(call)


def test_reasons_name_the_similar_row_and_the_columns():
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
        "similar to LH2; 10.0% of rows are most like it; leaves 30.0% of the uncertainty",
    ]


def test_most_different_names_columns_up_to_half_of_the_difference():
    assert most_different(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), list("abcdefg")) == ["a", "b", "c"]
    assert most_different(np.array([1.0, 2.0, 1.0, 1.0]), list("abcd")) == ["b"]
    assert most_different(np.zeros(2), ["a", "b"]) == []
