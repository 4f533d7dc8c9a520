"""Tests of the last line of `qufur run`: its verdict on the rule."""

import json
import re

import numpy as np
import polars as pl
import pytest
from tests.cli.test_cli import qufur

from qufur.cli._compare import Comparison, Decision, Task, further_shares

SHARES = [0.1, *further_shares(0.1)]


def comparison(ours, theirs=lambda n: 100 / n, boosting=9.0, constant=99.0, first=9.0, seeds=4):
    """Return a comparison on 1000 rows; losses have a relative noise of 2 % per seed."""
    rng = np.random.default_rng(0)
    points = [("Steady", 0.1, ours), ("at random, boosting", 0.1, boosting), ("Greedy", 0.1, first)]
    points += [("Uniform", share, theirs(1000 * share)) for share in SHARES]
    rows = [
        {"rule": rule, "parameter": share, "seed": seed, "queries": round(1000 * share)}
        | {"mean squared error": loss * rng.normal(1, 0.02)}
        for seed in range(seeds)
        for rule, share, loss in points
    ]
    task = Task("t.csv", None, None, "mean squared error")
    return Comparison(task, pl.DataFrame(rows), {}, constant)


def test_half_the_loss_saves_half_the_labels_if_loss_is_inverse_to_labels():
    decision = Decision.of(comparison(0.5), "Steady", 0.1)
    assert decision.loss_ratio.value == pytest.approx(0.5, abs=0.03)
    assert decision.labels_saved.value == pytest.approx(0.5, abs=0.04)
    assert decision.labels_saved.low < 0.5 < decision.labels_saved.high
    sentence = decision.sentence("100 labels", "qufur ask t.csv --budget 10%")
    loss = r"With 100 labels, Steady's error is \d\d % lower than with random labels \(95 % CI \d\d–\d\d %\)"
    saved = r"It needs \d\d % fewer labels for the same error \(\d\d–\d\d %\)"
    assert re.fullmatch(f"{loss}\\. {saved}\\. Use `qufur ask t.csv --budget 10%`\\.", sentence)


@pytest.mark.parametrize(
    ("ours", "others", "said"),
    [
        (1.0, {}, "; the difference is not significant."),
        (1.5, {}, "Random labels are better here. Use `qufur ask --at-random`."),
        (0.1, {}, "at least 71 % fewer labels"),
        (0.5, {"boosting": 0.42}, "Boosting alone, on random labels, has 0.8"),
        (0.5, {"constant": 0.3}, "The best constant has 0.6"),
        (1.0, {"first": 0.8}, "Labelling only the first rows has 0."),
    ],
)
def test_decision_names_the_better_alternative(ours, others, said):
    assert said in Decision.of(comparison(ours, **others), "Steady", 0.1).sentence("10%", "qufur ask")


@pytest.mark.parametrize(("ours", "theirs"), [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)])
def test_decision_works_without_any_loss(ours, theirs):
    found = comparison(ours, theirs=lambda n: theirs, boosting=0.0, constant=0.0)
    sentence = Decision.of(found, "Steady", 0.1).sentence("100 labels", "qufur ask")
    assert sentence.startswith("With 100 labels, Steady's error is ")


def test_decision_works_without_random_labels():
    found = comparison(0.5)
    ours = found.table["rule"] == "Steady"
    none = found.table.with_columns((found.table["queries"] * ours).alias("queries"))
    found = Comparison(found.task, none, {}, 9.0)
    assert np.isfinite(Decision.of(found, "Steady", 0.1).labels_saved.value)


def test_decision_is_not_significant_with_one_seed():
    sentence = Decision.of(comparison(0.5, seeds=1), "Steady", 0.1).sentence("100 labels", "qufur ask")
    assert sentence.startswith(
        "With 100 labels, Steady's error is 50 % lower than with random labels; the difference is not"
    )


@pytest.fixture
def table(tmp_path):
    """Write a table whose rare, large rows are the most informative; random labels miss them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3)) * np.where(rng.random(300) < 0.05, 20, 1)[:, None]
    y = 500 + X @ [1, 2, -3] + rng.normal(size=300)
    path = tmp_path / "t.csv"
    np.savetxt(
        path,
        np.column_stack([X, y, np.arange(300) // 150 + 5]),
        delimiter=",",
        header="a,b,c,y,d",
        comments="",
    )
    return path


OPTIONS = ["--target", "y", "--model", "ridge", "--budget", "10%", "--seeds", 3]


def test_sentence_agrees_with_the_table(monkeypatch, capsys, tmp_path, table, no_pictures):
    assert qufur(monkeypatch, "run", table, *OPTIONS, "--skip", "d", "--json", "--out", tmp_path) == 0
    found = json.loads(capsys.readouterr().out)
    runs = pl.DataFrame(found["runs"]).filter(pl.col("parameter") == 0.1)
    loss = dict(runs.group_by("rule").agg(pl.col("mean squared error").mean()).iter_rows())
    decision = found["decision"]
    assert decision["rule"] == "Paced"
    assert decision["loss_ratio"][0] == pytest.approx(loss["Paced"] / loss["Uniform"])
    assert decision["boosting"] == pytest.approx(loss["at random, boosting"] / loss["Paced"])
    assert all(row["horizon"] == 299 for row in found["runs"])
    y = np.loadtxt(table, delimiter=",", skiprows=1)[1:, 3]
    assert found["constant"] == pytest.approx(y.var())


def test_run_ends_with_the_next_command(monkeypatch, capsys, tmp_path, table, no_pictures):
    assert qufur(monkeypatch, "run", table, *OPTIONS, "--domain", "d", "--out", tmp_path) == 0
    *above, last = capsys.readouterr().out.splitlines()
    assert "Use `qufur ask t.csv --target y --model ridge --label-range" in last
    assert "--budget 10%" in last
    text = "\n".join(above)
    assert "DomainOracle" in text
    assert "Omitted: DomainOracle" not in text
    assert "│ * " in text  # marks the lowest loss without colours, as in a log file
    assert "the best constant" in text
