"""Search for the parameter that spends a budget, without labels."""

import numpy as np
import pytest

from qufur import Experts, Learner, QuFUR, Ridge, Steady, Threshold, Uniform, plan, run, streams
from qufur.planning.search import matching_parameter
from qufur.rules import RULES
from qufur.rules.from_budget import labels_of
from qufur.sweep.at_budgets import budget_grid

STREAM = streams.HiddenDomains([150, 100, 50], [5, 2, 8], seed=4)
MODEL = Ridge(STREAM.dim)


@pytest.mark.parametrize("budget", [1, 15, 60, 150, 290])
@pytest.mark.parametrize("rule_of", [QuFUR, lambda scale, budget: Threshold(1 / scale, budget=budget)])
def test_search_returns_the_smallest_parameter_that_spends_the_budget(rule_of, budget):
    found = matching_parameter(lambda value: rule_of(value, budget=budget), MODEL, STREAM, seed=3)
    assert run(Learner(MODEL, rule_of(found, budget=budget), seed=3), STREAM).queries == budget
    # With fixed draws the spend is not quite monotone: some parameter within 1 % below must fall short.
    below = [rule_of(found / (1 + k / 4000), budget=budget) for k in range(1, 41)]
    assert min(run(Learner(MODEL, rule, seed=3), STREAM).queries for rule in below) < budget


@pytest.mark.filterwarnings("ignore::qufur.OutlierWarning")
def test_search_does_not_use_labels():
    whole = next(STREAM.chunks(10**6))
    junk = streams.Arrays(whole.X, np.random.default_rng(0).normal(size=len(whole)) * 100)
    found = [matching_parameter(lambda a: QuFUR(a, budget=50), MODEL, s) for s in (STREAM, junk)]
    assert found[0] == found[1]


def test_search_terminates_for_an_unreachable_budget():
    nothing = streams.Arrays(np.zeros((20, 2)), np.zeros(20))
    assert matching_parameter(lambda a: QuFUR(a, budget=5), Ridge(2), nothing) >= 1e12


def test_grid_covers_all_rules():
    grid, left_out = budget_grid(STREAM, lambda stream: MODEL, [0.05, 0.2])
    assert set(grid) == {kind.__name__ for kind in RULES}
    assert grid["FixedBudget"][1] == [0.2]
    assert "at least 26" in left_out["FixedBudget"]
    for rule_of, shares in grid.values():
        for share in shares:
            assert rule_of(share, STREAM).budget == labels_of(share, STREAM.horizon)
    assert isinstance(grid["Uniform"][0](0.2, STREAM), Uniform)


def test_grid_omits_the_oracle_when_domains_are_unknown():
    _, left_out = budget_grid(streams.Arrays(np.eye(9), np.ones(9)), lambda stream: Ridge(9), [0.5])
    assert "known" in left_out["DomainOracle"]


@pytest.mark.usefixtures("few_trees")
def test_search_plans_experts_without_fits(monkeypatch):
    small = streams.HiddenDomains([60, 60], [4, 2], seed=4)
    for rule in (QuFUR(0.3), Steady(20, 120)):
        found = [
            run(Learner(model, rule, seed=1), small).query
            for model in (Experts(), Experts().without_experts())
        ]
        np.testing.assert_array_equal(*found)
    monkeypatch.setattr(Experts, "build_experts", None)  # any fit is now an error
    alpha = matching_parameter(lambda alpha: QuFUR(alpha, budget=20), Experts(), small)
    assert plan(Experts(), small, 20, seeds=range(2)).alpha == pytest.approx(alpha, rel=1)


def test_steady_plan_has_no_alpha():
    found = plan(Ridge(STREAM.dim), STREAM, 60, seeds=range(3), parts=3, steady=True)
    assert (found.alpha, found.forecast, found.rule) == (None, (), Steady(60, 300))
    assert (found.spend.mean, found.spend.low, found.spend.high) == (60, 60, 60)
    assert sum(part.labels.mean for part in found.parts) == pytest.approx(60)
    assert str(found).startswith("60 of 300 labels: Steady buys 60 (60–60)\n\nexamples")
    assert "regret" not in str(found)
