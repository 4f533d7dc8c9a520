"""QuFUR against the oracle with known domains, at small and large budgets (Section 3.2, Theorem 14).

The streams are those of the lower-bound adversary, for the reason given in `budgets`: every direction is
worth learning.
"""

from __future__ import annotations

import numpy as np

from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of
from qufur.figures.style import LOOKS, subplots
from qufur.models import Ridge
from qufur.rules import DomainOracle, QuFUR, Rule, Uniform
from qufur.streams import LowerBound, Stream
from qufur.sweep.at_budgets import rule_for_budget
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import Interval, every, jackknife, per_seed, ratio
from qufur.theory import Structure, largest_budget, oracle_alpha

STRUCTURE = Structure(durations=[1_000, 2_000, 5_000, 12_000], dims=[20, 10, 2, 1])
BUDGETS = (500, 1_000, 2_000, 5_000, 10_000)
"""`largest_budget` lies between the third and the fourth; above it the oracle buys whole domains."""

WITH_ORACLE_ALPHA = "QuFUR, oracle's α"
RULES = {
    "QuFUR": LOOKS["QuFUR"],
    WITH_ORACLE_ALPHA: {**LOOKS["QuFUR"], "ls": ":", "mfc": "none"},
    "DomainOracle": LOOKS["DomainOracle"],
    "Uniform": LOOKS["Uniform"],
}
"""Rules with their styles."""
SAME_ORDER = 2.0


def cells(seeds: int) -> list[Cell]:
    """Run every rule at every budget on the same streams."""
    return cells_of(seed=range(seeds), budget=BUDGETS, rule=RULES)


def play(cell: Cell) -> Row:
    """Run one rule on one draw of the stream."""
    seed, model = cell["seed"], Ridge(sum(STRUCTURE.dims), norm_bound=sum(STRUCTURE.dims) ** 0.5)
    stream = LowerBound(STRUCTURE.durations, STRUCTURE.dims, seed=seed)
    rule = _rule(cell["rule"], cell["budget"], model, stream)
    totals = play_rule(model, rule, stream, seed).totals
    return {"queries": totals.queries, "regret": totals.regret}


def _rule(name: str, budget: int, model: Ridge, stream: Stream) -> Rule:
    if name == WITH_ORACLE_ALPHA:
        return QuFUR(oracle_alpha(STRUCTURE, budget))
    rules: dict[str, type[Rule]] = {"QuFUR": QuFUR, "DomainOracle": DomainOracle, "Uniform": Uniform}
    return rule_for_budget(rules[name], budget, model, stream)


def judge(table: Table) -> list[Statement]:
    """Compare regrets at equal budgets, and report the spend of the oracle's α."""
    small = sum(budget <= largest_budget(STRUCTURE) for budget in BUDGETS)
    matched, uniform = (_ratios(table, rule) for rule in ("QuFUR", "Uniform"))
    with_oracle_alpha = _ratios(table, WITH_ORACLE_ALPHA)
    spent = per_seed(table.filter(rule=WITH_ORACLE_ALPHA), ["budget"], "queries")
    overspend = float((spent.mean(axis=0) / BUDGETS).max())
    return [
        _at_most("Section 4.1", "small budgets: QuFUR's regret", matched[:small]),
        _at_most("large-budget appendix", "large budgets: QuFUR's regret", matched[small:]),
        _at_most("large-budget appendix", "at α = 1/(τη̃)²: QuFUR's regret", with_oracle_alpha),
        Statement(
            "large-budget appendix",
            f"at α = 1/(τη̃)² QuFUR buys at most {SAME_ORDER:.0f}B labels",
            f"at most {overspend:.2f}B",
            overspend <= SAME_ORDER,
        ),
        Statement(
            "Section 3.2",
            "without known domains regret is higher: uniform querying has more at every small budget",
            _listed(uniform[:small]),
            every(interval.within(1, np.inf) for interval in uniform[:small]),
        ),
    ]


def _ratios(table: Table, rule: str) -> list[Interval]:
    """Return regret over the oracle's at each budget."""
    regrets = [per_seed(table.filter(rule=name), ["budget"], "regret") for name in (rule, "DomainOracle")]
    return [jackknife(ratio, pairs) for pairs in np.transpose(regrets, (2, 1, 0))]


def _at_most(source: str, subject: str, ratios: list[Interval]) -> Statement:
    claim = f"{subject} is at most {SAME_ORDER:.0f} times the oracle's"
    holds = every(interval.within(0, SAME_ORDER) for interval in ratios)
    return Statement(source, claim, _listed(ratios), holds)


def _listed(ratios: list[Interval]) -> str:
    return ", ".join(f"{interval.value:.2f}" for interval in ratios) + " times"


def draw(table: Table) -> Figure:
    """Draw regret against labels bought."""
    figure, (panel,) = subplots(1, 1)
    for rule, look in RULES.items():
        rows = table.filter(rule=rule)
        Q, R = (per_seed(rows, ["budget"], column).mean(axis=0) for column in ("queries", "regret"))
        panel.plot(Q, R, label=rule, ms=5, lw=1.2, **look)
    panel.axvline(largest_budget(STRUCTURE), color="0.5", lw=0.8, ls="--")
    panel.set(xscale="log", yscale="log", xlabel="labels bought", ylabel="regret R")
    panel.set_title("Right of the dashed line the oracle buys whole domains", fontsize="medium")
    panel.legend(frameon=False, fontsize="small")
    return figure


EXPERIMENT = Experiment("oracle", "QuFUR and the oracle that knows the domains", cells, play, draw, judge)
