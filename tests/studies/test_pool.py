"""Tests of the pool study: equal numbers of rows, held-out evaluation, verdicts that can fail."""

import numpy as np
import polars as pl
import pytest
from studies.pool import study, ways

from qufur.experiments.base import run_all
from qufur.labelling.pool import choose

X = np.random.default_rng(0).normal(size=(80, 3))


@pytest.mark.parametrize("way", ways.WAYS)
def test_pool_methods_choose_different_rows(way):
    rows = ways.WAYS[way](X, 12, 1)
    assert len(set(rows.tolist())) == 12
    assert set(rows.tolist()) <= set(range(80))
    assert rows.tolist() == ways.WAYS[way](X, 12, 1).tolist()


def test_pool_study_uses_the_public_function():
    assert ways.chosen(X, 5, 0).tolist() == choose(X, 5).rows.tolist()


def test_determinant_method_is_greedy(monkeypatch):
    monkeypatch.setattr(ways, "PENALTY", 1.0)  # large enough to affect the choice
    rows = ways.log_determinant(X, 40, 0)
    Z = np.column_stack([ways._scaled(X), np.ones(80)])
    for count in range(40):
        M = ways.PENALTY * np.eye(4) + Z[rows[:count]].T @ Z[rows[:count]]
        left = np.setdiff1d(np.arange(80), rows[:count])
        logs = [np.linalg.slogdet(M + np.outer(Z[row], Z[row]))[1] for row in left]
        assert left[int(np.argmax(logs))] == rows[count]


def test_clusters_with_a_shared_row_are_filled_up():
    few = np.repeat(X[:4], 20, axis=0)
    with pytest.warns(UserWarning, match="distinct clusters"):
        rows = ways.k_means(few, 10, 0)
    assert len(set(rows.tolist())) == 10


def test_pool_models_match_the_manual():
    assert [name for name, _ in ways.models(8, 0, 0)] == ["linear", "trees", "boosting"]
    assert [name for name, _ in ways.models(64, 10, 0)] == ["linear", "trees"]
    assert all(hasattr(model, "predict_proba") for _, model in ways.models(8, 2, 0))


def test_pool_cells_are_evaluated_on_held_out_rows(monkeypatch):
    looked = {}

    def way(pool, count, seed):
        looked["pool"] = pool
        return np.arange(count)

    monkeypatch.setitem(ways.WAYS, "chosen", way)
    seen = {}

    class Recorded:
        def fit(self, X, y):
            seen["fitted"] = X
            return self

        def predict(self, X):
            seen["judged"] = X
            return np.full(len(X), 1e9)

    monkeypatch.setattr(study, "models", lambda *_: [("model", Recorded())])
    results = study.play({"stream": "diabetes", "way": "chosen", "seed": 0})
    np.testing.assert_array_equal(seen["fitted"], looked["pool"][: study.BUDGET])
    rows = {tuple(row) for row in looked["pool"]}
    assert not any(tuple(row) in rows for row in seen["judged"])
    assert (len(looked["pool"]), len(seen["judged"])) == (221, 221)
    # Predictions are clipped to the labels seen.
    assert results["model"] == ["model"]
    assert results["error"][0] < 1e6


def table(ours, rival=2.0, seeds=4):
    noise = [1.0, 1.01, 0.99, 1.02]
    cells = {"at random": 1.0, "chosen": ours, "log-determinant": rival, "k-means": 1.0}
    return pl.DataFrame(
        [
            {"stream": name, "way": way, "seed": seed, "model": model, "error": error * noise[seed]}
            for name in ("a", "b")
            for way, error in cells.items()
            for seed in range(seeds)
            for model in ("linear", "trees")
        ]
    )


@pytest.mark.parametrize(
    ("ours", "rival", "verdicts"),
    [
        (0.8, 2.0, [True, True, True]),
        (1.0, 2.0, [False, True, True]),
        (1.2, 2.0, [False, False, True]),
        (0.8, 0.7, [True, True, False]),
    ],
)
def test_pool_verdicts_can_fail(ours, rival, verdicts):
    assert [statement.holds for statement in study.judge(table(ours, rival))] == verdicts


def test_pool_verdict_is_undecided_for_one_seed():
    assert [statement.holds for statement in study.judge(table(0.8, seeds=1))] == [None] * 3


def test_quick_pool_run_is_a_subset(tmp_path):
    results = run_all([study.EXPERIMENT], seeds=1, quick=True)["pool"]
    assert set(results["stream"]) == {"diabetes"}
    (listing,) = study.listings(results)
    assert [row[:2] for row in listing.rows] == [
        ["diabetes", "linear"],
        ["diabetes", "trees"],
        ["diabetes", "boosting"],
        ["geometric mean", ""],
    ]
    assert study.draw(results).axes
