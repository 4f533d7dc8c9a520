"""Budget rules with known T: regret against QuFUR with α tuned in hindsight, at equal labels."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.learner import Learner
from qufur.rules import DomainOracle, FixedBudget, Greedy, Paced, QuFUR, Rule, Steady, Threshold, Uniform
from qufur.rules.from_budget import labels_of
from qufur.run import run
from qufur.streams import Stream
from qufur.sweep.at_budgets import rule_for_budget
from qufur.sweep.tasks import Row
from studies.pacing import scores
from studies.pacing.streams import DESIGN, FAMILIES, model_of
from studies.pacing.strips import draw_strips

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

SHARES = (0.05, 0.1, 0.2, 0.3)
RULES: tuple[type[Rule], ...] = (
    QuFUR,
    Paced,
    Steady,
    FixedBudget,
    Uniform,
    Greedy,
    Threshold,
    DomainOracle,
)
NAMES = tuple(rule_class.__name__ for rule_class in RULES)
JUDGED = "Paced"
FOR_TABLES = "Steady"
"""Rule of the command line, evaluated on the same streams."""
MOST, WORST = 1.10, 1.6
"""Limits of the ratio of regret to hindsight's: in the geometric mean, and on every stream."""
BRIEF = ("homogeneous", "iid, short", "interleaved", "five short domains")
DRAW_SEED_OFFSET = 1000
"""Offset of the seed of query draws, which are independent of the stream's draws."""


def cells(seeds: int) -> list[Cell]:
    """Return a cell per stream, share and seed; it runs all rules on the same stream and draws."""
    return [
        {"stream": name, "set": "design" if name in DESIGN else "held-out", "share": share, "seed": seed}
        for name, share, seed in product(FAMILIES, SHARES, range(seeds))
    ]


def play(cell: Cell) -> Row:
    """Run every rule that applies to the stream and the budget on one draw of the stream."""
    stream = FAMILIES[cell["stream"]](cell["seed"])
    budget = labels_of(cell["share"], stream.horizon)
    results = {
        rule_class.__name__: play_rule_class(rule_class, budget, stream, DRAW_SEED_OFFSET + cell["seed"])
        for rule_class in RULES
    }
    applicable = {name: totals for name, totals in results.items() if totals}
    return {
        "horizon": stream.horizon,
        "budget": budget,
        "rule": list(applicable),
        "queries": [queries for queries, _ in applicable.values()],
        "regret": [regret for _, regret in applicable.values()],
    }


def play_rule_class(
    rule_class: type[Rule], budget: int, stream: Stream, draw_seed: int
) -> tuple[int, float] | None:
    """Return labels bought and regret; None for a rule that needs more labels or known domains."""
    model = model_of(stream)
    try:
        # Hindsight also knows the query draws: α then spends exactly the budget.
        rule = rule_for_budget(rule_class, budget, model, stream, seed=draw_seed)
    except ValueError:
        return None
    totals = run(Learner(model, rule, seed=draw_seed), stream).totals
    return totals.queries, totals.regret


def judge(table: pl.DataFrame) -> list[Statement]:
    """Evaluate whether `Paced` spends its budget, and compare its regret with tuning in hindsight."""
    results = scores.judge(table, JUDGED, "known horizon", MOST, WORST)
    return results + scores.averages(table, FOR_TABLES, "known horizon", MOST)


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return all rules side by side, over all streams and stream by stream."""
    return [scores.list_rules(table, NAMES), scores.list_streams(table, NAMES)]


def draw(table: pl.DataFrame) -> Figure:
    """Draw the ratio on every stream."""
    return draw_strips(table, NAMES)


def in_brief(cell: Cell) -> bool:
    """Select four short streams for a quick run."""
    return cell["stream"] in BRIEF


EXPERIMENT = Experiment(
    "pacing",
    "Budget rules against α tuned in hindsight",
    cells,
    play,
    draw,
    judge,
    in_brief=in_brief,
    listings=listings,
)
