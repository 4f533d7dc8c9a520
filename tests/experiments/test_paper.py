"""Tests of the paper's figures: panels, claims, page, and missing data."""

import math
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from qufur import PaperAdam, Ridge, Softmax
from qufur.data import MissingDataError
from qufur.experiments import PARTS
from qufur.experiments.base import run_all
from qufur.experiments.page import page
from qufur.experiments.paper import fig1, fig2, fig3, realizability
from qufur.experiments.paper.learners import classifier, ranged_ridge, unit_ridge
from qufur.experiments.paper.panels import NO_LABELS, SHARES, Panel, compare, figure_of, make_rule
from qufur.experiments.results import reproduce
from qufur.streams import HiddenDomains
from qufur.sweep.equal_labels import at_equal_labels


def small_stream(seed):
    return HiddenDomains([150, 150], [4, 2], seed=seed)


def absent_stream(seed):
    raise MissingDataError("faces.npz is missing.")


SMALL = Panel("Small", small_stream, unit_ridge, (0.1, 0.5, 2.0, 8.0), {"regret": "regret R"})
ABSENT = Panel("Absent", absent_stream, unit_ridge, (1.0,))


@pytest.fixture
def figure():
    return figure_of("small", "A small figure", "Section 0", {"small": SMALL, "absent": ABSENT})


def test_panel_rules_get_the_same_streams(figure):
    table = run_all([figure], seeds=2)["small"]
    assert set(table["rule"]) == {"QuFUR", "Uniform", "Greedy", "Threshold", "FixedBudget", NO_LABELS}
    unlabelled = table.filter(table["rule"] == NO_LABELS)
    assert unlabelled["queries"].to_list() == [0, 0]
    # Without labels every prediction is 0, so the regret is the sum of squared f*.
    for row in unlabelled.iter_rows(named=True):
        truth = next(small_stream(row["seed"]).chunks(300)).truth
        assert math.isclose(row["regret"], float((truth**2).sum()))
    assert (table["error"] * 300 - table["loss"]).abs().max() < 1e-9
    everything = table.filter((table["rule"] == "Uniform") & (table["parameter"] == 1.0))
    greedy = table.filter((table["rule"] == "Greedy") & (table["parameter"] == 1.0))
    assert everything["regret"].to_list() == greedy["regret"].to_list()


def test_missing_panels_are_named_and_skipped(figure, tmp_path):
    (result,) = reproduce([figure], tmp_path, seeds=2, quick=False, jobs=1)
    assert result.missing == {"Absent": "faces.npz is missing."}
    assert set(result.table["panel"]) == {"small"}
    assert [path.name for path in result.files] == ["small.csv", "small.png", "small.svg"]


def test_figure_without_data_is_skipped(tmp_path):
    alone = figure_of("alone", "Nothing", "Section 0", {"absent": ABSENT})
    (result,) = reproduce([alone], tmp_path, seeds=1, quick=False, jobs=1)
    assert not result.files
    assert not result.statements
    assert "faces.npz is missing." in page("Nothing", [result], {})


def test_interrupted_run_resumes_with_the_same_numbers(figure, tmp_path):
    whole = run_all([figure], seeds=1, out=tmp_path / "whole.jsonl")["small"]
    text = (tmp_path / "whole.jsonl").read_text()
    cut = tmp_path / "cut.jsonl"
    cut.write_text(text[: 2 * len(text) // 3])  # in the middle of a row
    assert run_all([figure], seeds=1, out=cut)["small"].equals(whole)
    assert run_all([figure], seeds=1, jobs=2)["small"].equals(whole)


def test_quick_cells_are_a_subset_of_all_cells(figure):
    quick = figure.tasks(quick=True)
    keys = {task.key for task in figure.tasks(2)}
    assert 0 < len(quick) < len(keys)
    assert {task.key for task in quick} < keys


def curves(**losses):
    """Return a table in which each rule has the same loss at all numbers of labels."""
    return pl.DataFrame(
        [
            {"rule": rule, "seed": seed, "queries": q, "horizon": 1000, "loss": loss * (1 + 0.01 * seed)}
            for rule, loss in losses.items()
            for seed in range(4)
            for q in (20, 800)
        ]
    )


@pytest.mark.parametrize(("loss", "holds"), [(0.9, True), (1.1, False)])
def test_claims_are_decided_by_the_numbers(loss, holds):
    table = curves(QuFUR=loss, Uniform=1.0, Greedy=1.0)
    statements = compare(table, "Figure 0", "Nothing", {"loss": "loss"})
    assert [statement.holds for statement in statements] == [holds, holds]
    assert statements[0].measured.count(f"{loss:.2f}") == len(SHARES)


def test_claim_is_undecided_when_seeds_disagree():
    table = curves(QuFUR=1.0, Uniform=1.0, Greedy=1.0)
    uneven = pl.when((pl.col("rule") == "QuFUR") & (pl.col("seed") % 2 == 0)).then(0.1).otherwise(0.0)
    table = table.with_columns(loss=pl.col("loss") + uneven - 0.04 * (pl.col("rule") == "QuFUR"))
    assert compare(table, "", "", {"loss": "loss"})[0].holds is None


def test_budgets_beyond_a_curve_are_omitted():
    table = curves(QuFUR=0.9, Uniform=1.0, Greedy=1.0)
    table = table.filter((table["rule"] != "Uniform") | (table["queries"] > 20))
    uniform, greedy = compare(table, "", "", {"loss": "loss"})
    assert uniform.measured == "ratio "
    assert uniform.holds is None
    assert greedy.holds


def learned(table):
    return table.filter(table["rule"].is_in(["QuFUR", "Uniform", "Greedy"]))


def test_synthetic_panel_matches_the_scripts():
    """Ratios of regret at 20 % of the labels lie near those of many seeds; a standard error is about 0.05."""
    synthetic = {"synthetic": fig1.PANELS["synthetic"]}
    table = run_all([figure_of("one", "", "", synthetic)], seeds=1, quick=True)["one"]
    regret = {
        rule: values.mean() for rule, values in at_equal_labels(learned(table), "regret", [0.2]).items()
    }
    assert abs(regret["QuFUR"] / regret["Uniform"] - 0.79) < 0.15
    assert abs(regret["QuFUR"] / regret["Greedy"] - 0.44) < 0.15


def test_learners_match_the_scripts():
    stream = SimpleNamespace(dim=3, classes=4, largest_norm=7.0, label_range=(1.0, 5.0))
    assert classifier(stream, 9) == Softmax(3, 4, regularization=7.0, cap=False, training=PaperAdam(seed=9))
    assert ranged_ridge(stream, 9) == Ridge(3, regularization=7.0, cap=False, label_range=(1.0, 5.0))
    assert unit_ridge(stream, 9) == Ridge(3, regularization=1.0)


def test_make_rule_returns_rules_by_name():
    for name in SMALL.grid:
        rule = make_rule(name, 0.5, 300)
        assert rule.budget in (None, 150)


def test_figure_3_statements_detect_falls_and_one_extra_label():
    def table(before, after, bought=fig3.PUBLISHED):
        rows = [
            {
                "draw": draw,
                "seed": seed,
                "alpha": alpha,
                "time": t,
                "query": float(t < bought[alpha]),
                "probability": p + 1e-3 * seed,
            }
            for draw, seed in [(fig3.EXACT, 0), *((fig3.FRESH, seed) for seed in range(3))]
            for alpha in fig3.PUBLISHED
            for t in range(600)
            for p in [after if any(s <= t < s + 20 for s in fig3.SHIFTS) else before]
        ]
        return pl.DataFrame(rows)

    assert fig3.judge(table(0.2, 0.5))[1].holds
    assert fig3.judge(table(0.5, 0.2))[1].holds is False
    assert fig3.judge(table(0.2, 0.5))[0].holds
    assert fig3.judge(table(0.2, 0.5, {**fig3.PUBLISHED, 1.0: 577}))[0].holds is False


def test_offline_fits_match_known_values():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = X @ np.arange(5.0) + 2.0
    assert realizability.mean_squared_error(X, y) < 1e-20
    assert realizability.accuracy(X, (y > 2.0).astype(float)) == 1.0


def test_realizability_statements_depend_on_the_fit():
    rows = [
        {"dataset": name, "data": "", "shuffled": shuffled, "examples": 10, "dim": 2, "fit": fit}
        for name, fit in (("Amazon reviews", 0.7), ("Rotated MNIST", 1.0), ("Portraits", 0.9))
        for shuffled in (False, True)
    ]
    assert [s.holds for s in realizability.judge(pl.DataFrame(rows))] == [False, True, False]
    assert realizability.draw(pl.DataFrame(rows)).axes


def test_figure_2_faces_are_tiled_from_left_to_right():
    faces = np.broadcast_to(np.arange(32.0)[:, None, None], (32, 32, 32))
    picture = fig2.tiled(faces)
    assert picture.shape == (128, 64)
    assert picture[::32, ::32].T.ravel().tolist() == [0, 4, 8, 12, 16, 20, 24, 28]


def test_page_is_self_contained(figure, tmp_path):
    results = reproduce([figure], tmp_path, seeds=2, quick=True, jobs=1)
    text = page("A <title>", results, {"seeds": "2"})
    assert "A &lt;title&gt;" in text
    assert text.count("<svg") == 1
    assert "undecided" in text
    # The page loads nothing: addresses occur only as names of XML namespaces.
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', re.sub(r"<svg.*?</svg>", "", text, flags=re.S))
    assert "<script" not in text
    assert "drawn from the seed" in text


def test_page_drawings_have_resolvable_references(figure, tmp_path):
    text = page("One", reproduce([figure], tmp_path, seeds=1, quick=True, jobs=1), {})
    ids = re.findall(r'\bid="([^"]+)"', text)
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
    assert used
    assert set(used) <= set(ids)


def test_experiment_parts_have_unique_names():
    different = {experiment for part in PARTS.values() for experiment in part}
    assert len({experiment.name for experiment in different}) == len(different)


@pytest.mark.parametrize(("loss", "holds"), [(0.9, False), (1.1, True)])
def test_exceptions_are_checked_as_claims(loss, holds):
    table = curves(QuFUR=loss, Uniform=1.0, Greedy=1.0)
    uniform, greedy = compare(table, "", "Shuffled", {"loss": "loss"}, ["Greedy"])
    assert greedy.holds is holds
    assert uniform.holds is not holds
    assert "higher than with greedy" in greedy.claim
