"""Tests of experiments on lower bounds, regret definitions and new data."""

import math
from functools import cache

import polars as pl
import pytest

from qufur.experiments.base import run_all
from qufur.experiments.theory import batch, bayes_risk, lower_bound, regret_definition
from qufur.rules import FixedBudget
from qufur.theory import Structure, batch_horizon
from qufur.theory import bayes_risk as risk

SEEDS = 2
BATCH = (batch.MIXTURES.values(), batch.HORIZON, batch.BUDGETS)


def played(experiment):
    (table,) = run_all([experiment], seeds=SEEDS).values()
    return table


@pytest.fixture(scope="module")
def patched():
    """Shrink the settings for this module and clear the cached rules."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (lower_bound, batch):
            patch.setattr(module, "_rule", cache(module._rule.__wrapped__))
        yield patch


@pytest.fixture(scope="module")
def lower(patched):
    structures = {"one domain": Structure([300], [4]), "three domains": Structure([150, 100, 50], [1, 2, 3])}
    patched.setattr(lower_bound, "STRUCTURES", structures)
    patched.setattr(lower_bound, "BUDGETS", (40, 80))
    return played(lower_bound.EXPERIMENT)


@pytest.fixture(scope="module")
def errors(patched):
    patched.setattr(bayes_risk, "DIM", 20)
    patched.setattr(bayes_risk, "HORIZON", 200)
    patched.setattr(bayes_risk, "LABELS", (0, 1, 2))
    return played(bayes_risk.EXPERIMENT)


@pytest.fixture(scope="module")
def notions(patched):
    patched.setattr(regret_definition, "HORIZON", 40)
    patched.setattr(regret_definition, "REPEATS", 5)
    return played(regret_definition.EXPERIMENT)


@pytest.fixture(scope="module")
def conversion(patched):
    patched.setattr(batch, "HORIZON", 300)
    patched.setattr(batch, "FRESH", 100)
    patched.setattr(batch, "BUDGETS", (52, 104))
    return played(batch.EXPERIMENT)


@pytest.fixture(params=["lower", "errors", "notions", "conversion"])
def measured(request):
    modules = {
        "lower": lower_bound,
        "errors": bayes_risk,
        "notions": regret_definition,
        "conversion": batch,
    }
    return modules[request.param], request.getfixturevalue(request.param)


def test_cells_are_rows_of_plain_values(measured):
    module, table = measured
    assert len(table) == len(module.cells(SEEDS)) > 0
    assert all(dtype in {pl.Int64, pl.Float64, pl.String} for dtype in table.dtypes)
    assert table.write_csv()


def test_statements_and_figure_come_from_few_seeds(measured):
    module, table = measured
    statements = module.judge(table)
    assert all(s.source and s.claim and s.measured for s in statements)
    assert {s.holds for s in statements} <= {True, False, None}
    assert module.draw(table).axes


def verdicts(module, table, **columns):
    """Return the verdicts with some columns replaced."""
    return [statement.holds for statement in module.judge(table.with_columns(**columns))]


def test_lower_bound_statement_fails_for_regret_below_the_bound(lower):
    three, one, bayes, _ = verdicts(lower_bound, lower, regret=pl.col("regret") / 1e5)
    assert (three, one, bayes) == (False, False, False)


def test_bayes_bound_statement_fails_when_one_rule_is_below(lower):
    lucky = pl.when(pl.col("rule") == "Threshold").then(pl.col("regret") / 50).otherwise(pl.col("regret"))
    three, one, bayes, _ = verdicts(lower_bound, lower, regret=lucky)
    assert False not in {three, one}
    assert bayes is False


def test_cost_statement_fails_for_cost_below_the_lower_bound(lower):
    free = {"regret": pl.col("regret") / 1e6, "queries": pl.col("queries") / 1e6}
    assert verdicts(lower_bound, lower, **free)[-1] is False


def test_comparison_budget_equals_the_spend(lower):
    spent = lower.group_by("rule", "budget", "structure").agg(pl.col("queries").mean())
    few = spent.filter(~pl.col("rule").is_in(["FixedBudget"]))
    assert (few["queries"] / few["budget"]).is_between(0.7, 1.3).all()


def test_bayes_risk_statement_fails_for_errors_on_either_side(errors):
    assert verdicts(bayes_risk, errors, **{"error_1": pl.col("error_1") / 10}) == [False, False]
    least, attained = verdicts(bayes_risk, errors, **{"error_1": 10 * pl.col("error_1")})
    assert least is not False
    assert attained is False


def test_errors_match_laplaces_rule(errors):
    rows = errors.filter((pl.col("model") == "Bayes") & (pl.col("rule") == "Uniform"))
    for n in (0, 2):
        mean = (rows[f"error_{n}"] / rows[f"count_{n}"]).to_numpy().mean()
        # 200 directions whose squared error has a deviation of at most 1.5 times its mean: four of them.
        assert abs(mean / risk(n) - 1) < 4 * 1.5 / math.sqrt(rows[f"count_{n}"].sum())


def test_bayes_risk_statement_is_undecided_for_few_directions(errors):
    counts = {f"count_{n}": pl.lit(0) for n in bayes_risk.LABELS[1:]}
    table = errors.with_columns(**counts)
    assert list(bayes_risk.error_ratios(table, "Bayes")) == [0]


def test_regret_statement_fails_for_a_shifted_definition(notions):
    assert verdicts(regret_definition, notions, excess=pl.col("regret") - 1e-3) == [False, False]


def test_regret_statement_is_undecided_for_wide_intervals(notions):
    sign = (pl.col("seed") % 2) * 2 - 1
    assert verdicts(regret_definition, notions, excess=pl.col("regret") * (1 + sign / 2)) == [None, None]


def test_batch_statement_fails_for_risk_above_regret(conversion):
    shifted = verdicts(
        batch, conversion, excess=pl.col("regret"), risk=1.5 * pl.col("regret") / batch.HORIZON
    )
    assert shifted[:2] == [False, False]


def test_batch_statement_fails_for_a_worse_average(conversion):
    assert verdicts(batch, conversion)[2] is True
    first = pl.when(pl.col("seed") == 0).then(1.01 * pl.col("risk")).otherwise(pl.col("risk_of_average"))
    assert verdicts(batch, conversion, risk_of_average=first)[2] is False


def test_batch_statement_fails_for_risk_that_does_not_fall(conversion):
    flat = pl.col("budget") ** 3 * (1 + pl.col("seed") / 100)
    assert verdicts(batch, conversion, risk=flat)[3:] == [False, False, False]


def test_batch_statement_fails_for_overspending(conversion):
    assert verdicts(batch, conversion, queries=pl.col("budget") + 1)[-1] is False
    assert verdicts(batch, conversion)[-1] is True


def test_batch_settings_are_in_the_range_of_theorem_12():
    mixtures, horizon, budgets = BATCH
    assert all(batch_horizon(*mixture, max(budgets)) <= horizon for mixture in mixtures)
    assert min(budgets) >= FixedBudget(1000, horizon).copies
