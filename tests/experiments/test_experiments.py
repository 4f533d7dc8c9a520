"""Tests of experiments: rows, figures and verdicts that can fail."""

import math

import numpy as np
import polars as pl
import pytest

from qufur import QuFUR, Ridge
from qufur.experiments.base import Statement, run_all
from qufur.experiments.theory import THEORY, budgets, oracle, subsequences, tradeoff
from qufur.streams import LowerBound
from qufur.sweep import tasks
from qufur.sweep.grid import play
from qufur.sweep.statistics import Interval, jackknife, per_seed, slope
from qufur.theory import Structure, oracle_alpha


@pytest.fixture
def small(monkeypatch):
    """Shorten the streams: these tests check the machinery, not the theorems."""
    monkeypatch.setattr(tradeoff, "STRUCTURE", Structure([400, 300], [2, 1]))
    monkeypatch.setattr(tradeoff, "REPEATS", 1)
    structures = {"equal": Structure([300, 300], [2, 2]), "extreme": Structure([500, 100], [1, 10])}
    monkeypatch.setattr(budgets, "STRUCTURES", structures)
    monkeypatch.setattr(budgets, "BUDGETS", (40, 80, 160))
    monkeypatch.setattr(oracle, "STRUCTURE", Structure([60, 240], [6, 1]))
    monkeypatch.setattr(oracle, "BUDGETS", (20, 40, 150))


def doctored(experiment, seeds=2, **columns):
    """Return the statements of a table with replaced columns."""
    table = run_all([experiment], seeds=seeds)[experiment.name]
    return experiment.judge(table.with_columns(**columns))


def verdicts(statements, part):
    verdicts = [statement.holds for statement in statements if part in statement.claim]
    assert verdicts, part
    return verdicts


@pytest.mark.parametrize("module", [tradeoff, budgets, subsequences, oracle])
def test_experiments_return_one_row_per_cell_and_a_figure(small, module):
    experiment = module.EXPERIMENT
    table = run_all([experiment], seeds=2)[experiment.name]
    assert len(table) == len(experiment.cells(2))
    assert experiment.draw(table).axes
    for statement in experiment.judge(table):
        assert statement.claim
        assert statement.measured


def test_experiment_names_are_unique():
    assert len({experiment.name for experiment in THEORY}) == len(THEORY)


def test_tradeoff_statement_fails_for_wrong_slopes(small):
    for power in (0.3, 0.7):
        changed = doctored(tradeoff.EXPERIMENT, queries=pl.col("alpha") ** power)
        assert verdicts(changed, "Q grows as") == [False]
    changed = doctored(tradeoff.EXPERIMENT, regret=pl.col("alpha") ** -0.5, queries=pl.col("alpha") ** 0.5)
    assert verdicts(changed, "Q grows") + verdicts(changed, "R falls") == [True, True]


def test_cost_statement_fails_when_the_minimum_is_elsewhere(small):
    queries, regret = pl.col("alpha") ** 0.5, 9 * pl.col("alpha") ** -0.5
    changed = doctored(tradeoff.EXPERIMENT, queries=queries, regret=regret)
    assert verdicts(changed, "lowest near") == [False]
    assert verdicts(changed, "Q ≈ αR") == [False]
    assert verdicts(changed, "10 % more") == [False]


def test_bound_statement_fails_for_regret_above_the_bound(small):
    huge = {"regret": pl.lit(1e9)}
    assert verdicts(doctored(tradeoff.EXPERIMENT, **huge), "below the bounds") == [False]
    assert verdicts(
        doctored(oracle.EXPERIMENT, regret=pl.when(pl.col("rule") == "Uniform").then(1.0).otherwise(2.0)),
        "without known domains",
    ) == [False]
    columns = {f"regret {name}": pl.lit(1e9) for name in subsequences.subsequences()}
    assert not any(statement.holds for statement in doctored(subsequences.EXPERIMENT, **columns))


def test_budget_statement_fails_for_a_constant_that_is_not_flat(small):
    changed = doctored(budgets.EXPERIMENT, constant=pl.col("budget") ** 2.0)
    assert verdicts(changed, "is flat") == [False, False]
    assert verdicts(changed, "more than doubles") == [False]
    over = doctored(budgets.EXPERIMENT, queries=pl.col("budget") + 1)
    assert verdicts(over, "never exceeds") == [False]


def test_oracle_statement_fails_for_a_much_better_oracle(small):
    better = pl.when(pl.col("rule") == "DomainOracle").then(1.0).otherwise(3.0)
    changed = doctored(oracle.EXPERIMENT, regret=better)
    assert verdicts(changed, "times the oracle's") == [False, False, False]


def test_subsequences_span_their_dimensions():
    positions = subsequences.subsequences()
    assert {
        name: len(part) for name, part in positions.items() if "domain " in name and "of" not in name
    } == {f"domain {u + 1}": size for u, size in enumerate(subsequences.STRUCTURE.durations)}
    assert subsequences.dimension(positions["domain 4"]) == 12
    assert subsequences.dimension(positions["domain 4"][:5]) == 5
    assert subsequences.dimension(positions["all"]) == sum(subsequences.STRUCTURE.dims)


def test_jackknife_of_the_mean_is_students_interval():
    values = np.random.default_rng(5).normal(size=30)
    interval = jackknife(lambda x: float(x.mean()), values)
    margin = 2.045229642 * values.std(ddof=1) / math.sqrt(30)
    np.testing.assert_allclose((interval.low, interval.high), values.mean() + np.array([-margin, margin]))


def test_jackknife_of_one_seed_is_undecided():
    assert jackknife(lambda x: float(x.mean()), np.array([0.5])).within(0, 1) is None


def test_statement_verdicts_are_words():
    words = [Statement("", "", "", holds).verdict for holds in (True, False, None)]
    assert words == ["holds", "does NOT hold", "undecided"]


def test_intervals_are_formatted_with_two_digits():
    assert str(Interval(123.4, 100.2, 150.9)) == "123 [100, 151]"
    assert str(Interval(-0.49, -0.511, -0.471)) == "-0.49 [-0.51, -0.47]"


def test_per_seed_sorts_its_axes():
    table = pl.DataFrame(
        {"seed": [1, 0, 1, 0], "alpha": [2.0, 2.0, 1.0, 1.0], "regret": [4.0, 2.0, 3.0, 1.0]}
    )
    assert per_seed(table, ["alpha"], "regret").tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_slope_is_computed_from_the_mean():
    x = np.array([1.0, 10.0, 100.0])
    assert math.isclose(slope(x, np.array([x**2, 3 * x**2])), 2.0)


def test_rows_of_changed_code_are_not_reused(monkeypatch):
    before = {task.key for task in oracle.EXPERIMENT.tasks(1)}
    monkeypatch.setattr(tasks, "library", lambda: "other")
    assert not before & {task.key for task in oracle.EXPERIMENT.tasks(1)}


def test_algorithm_2_is_evaluated_at_its_budget_and_other_rules_at_their_spend(small):
    for row in run_all([budgets.EXPERIMENT], seeds=1)["budgets"].iter_rows(named=True):
        labels = row["budget"] if row["rule"] == "FixedBudget" else row["queries"]
        order = budgets.STRUCTURES[row["structure"]].root_sum ** 2 / labels
        assert math.isclose(row["constant"], row["regret"] / order)


def test_oracle_alpha_matches_the_theory(small):
    table = run_all([oracle.EXPERIMENT], seeds=1)["oracle"]
    for row in table.filter(table["rule"] == "QuFUR, oracle's α").iter_rows(named=True):
        stream = LowerBound(oracle.STRUCTURE.durations, oracle.STRUCTURE.dims, seed=row["seed"])
        rule = QuFUR(oracle_alpha(oracle.STRUCTURE, row["budget"]))
        model = Ridge(stream.dim, norm_bound=stream.dim**0.5)
        assert play(model, rule, stream, row["seed"]).queries == row["queries"]


def test_finished_rows_are_not_repeated(small, tmp_path):
    file = tmp_path / "rows.jsonl"
    alone = run_all([oracle.EXPERIMENT], seeds=1, out=file)["oracle"]
    size = file.stat().st_size
    again = run_all([oracle.EXPERIMENT], seeds=1, out=file)["oracle"]
    assert alone.equals(again)
    assert file.stat().st_size == size
