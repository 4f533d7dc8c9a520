"""Tests of the confidence-set experiment: verdicts that can fail, and trivial bounds."""

import polars as pl
import pytest

from qufur.experiments.base import run_all
from qufur.experiments.theory import nonlinear
from qufur.experiments.theory.nonlinear import ADVERSARY, FOUR, ONE, PAPER, PRACTICAL, QUIET
from qufur.theory import Structure

EXPERIMENT = nonlinear.EXPERIMENT
NAMES = ["paper", "practical", "Theorem 5", "budget", "Algorithm 4", "adversary", "within"]


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nonlinear, "STRUCTURE", Structure([20, 40], [2, 1]))
        patch.setattr(nonlinear, "QUIET_STRUCTURE", Structure([40, 40], [1, 1]))
        patch.setattr(nonlinear, "PARAMETERS", nonlinear.PARAMETERS | {FOUR: (40,), ADVERSARY: (40,)})
        yield


@pytest.fixture(scope="module")
def table(small):
    return run_all([EXPERIMENT], seeds=2)["nonlinear"]


def doctored(table, **columns):
    """Return the verdicts of a table with replaced columns."""
    statements = EXPERIMENT.judge(table.with_columns(**columns))
    return dict(zip(NAMES, [s.holds for s in statements], strict=True))


def only(rules, value, column):
    """Replace a column for some rules."""
    return {column: pl.when(pl.col("rule").is_in(rules)).then(value).otherwise(pl.col(column))}


def test_nonlinear_experiment_returns_one_row_per_cell_and_a_figure(table):
    assert len(table) == len(EXPERIMENT.cells(2)) == 2 * 17
    assert len(EXPERIMENT.draw(table).axes) == 2
    for statement in EXPERIMENT.judge(table):
        assert statement.claim
        assert statement.measured


def test_rules_get_the_same_streams_except_from_the_adversary(table):
    horizons = {rule: rows["horizon"].unique().to_list() for (rule,), rows in table.group_by("rule")}
    assert horizons == {ONE: [60], PAPER: [60], PRACTICAL: [60], FOUR: [60], ADVERSARY: [60], QUIET: [80]}


def spread(rule, regret, table):
    """Set regret 1 for all rules at labels that cover every share, and `regret` for one rule."""
    labels = pl.int_range(pl.len()).over("rule", "seed") * 30 + 3
    other = pl.when(pl.col("rule") == rule).then(regret).otherwise(1.0)
    return table.with_columns(queries=labels, regret=other)


@pytest.mark.parametrize(("rule", "name"), [(PAPER, "paper"), (PRACTICAL, "practical")])
def test_nonlinear_statement_fails_for_a_factor_above_d(table, rule, name):
    assert sum(nonlinear.STRUCTURE.dims) == 3
    assert doctored(spread(rule, 2.9, table))[name] is True
    assert doctored(spread(rule, 3.1, table))[name] is False


def test_nonlinear_statement_is_undecided_for_unreached_labels(table):
    few = spread(PAPER, 1.0, table).with_columns(queries=pl.lit(3))
    assert doctored(few)["paper"] is None
    EXPERIMENT.draw(few)


def test_budget_statement_fails_when_exceeded_once(table):
    assert doctored(table)["budget"] is True
    once = (pl.col("rule") == ADVERSARY) & (pl.col("seed") == 1)
    assert doctored(table, queries=pl.when(once).then(41).otherwise(pl.col("queries")))["budget"] is False


def test_bound_statement_is_undecided_for_a_trivial_bound(table):
    verdicts = doctored(table, **only([FOUR, ADVERSARY], 0.0, "regret"))
    assert (verdicts["Algorithm 4"], verdicts["adversary"]) == (None, None)


def test_bound_statement_fails_for_regret_above_a_nontrivial_bound(table, monkeypatch):
    monkeypatch.setattr(nonlinear, "QUIET_STRUCTURE", Structure([400, 400], [1, 1]))
    assert nonlinear.bounds_of(QUIET, 10.0).regret < 0.5 * 4 * 800
    assert nonlinear.bounds_of(QUIET, 0.01).queries < 0.5 * 800
    assert doctored(table)["Theorem 5"] is True
    assert doctored(table, **only([QUIET], 3200.0, "regret"))["Theorem 5"] is False
    assert doctored(table, **only([QUIET], 800, "queries"))["Theorem 5"] is False


def test_uncertainty_statement_fails_for_too_many_violations(table):
    assert doctored(table, **only([PRACTICAL], False, "within"))["within"] is True
    assert doctored(table, **only([QUIET], False, "within"))["within"] is False


def test_uncertainty_statement_is_undecided_when_it_never_falls(table):
    assert doctored(table, smallest=pl.lit(4.0 - 1e-14))["within"] is None
