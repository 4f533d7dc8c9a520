"""Budget rules that know T: regret against QuFUR with α tuned in hindsight, at the same number of labels."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.pacing import scores
from qufur.experiments.pacing.streams import DESIGN, FAMILIES, model_of
from qufur.experiments.pacing.strips import draw_strips
from qufur.learner import Learner
from qufur.rules import DomainOracle, FixedBudget, Greedy, Paced, QuFUR, Rule, Steady, Threshold, Uniform
from qufur.rules.from_budget import labels_of
from qufur.run import run
from qufur.streams import Stream
from qufur.sweep.at_budgets import rule_for_budget
from qufur.sweep.tasks import Row

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
NAMES = tuple(kind.__name__ for kind in RULES)
JUDGED = "Paced"
FOR_TABLES = "Steady"
"""The rule of the command line, whose regret these streams measure too."""
MOST, WORST = 1.10, 1.6
BRIEF = ("homogeneous", "iid, short", "interleaved", "five short domains")
COINS = 1000
"""Added to a seed: coins that are not the numbers that made the stream."""


def cells(seeds: int) -> list[Cell]:
    """Return every stream at every share; a cell runs all rules, which share stream and coins."""
    return [
        {"stream": name, "set": "design" if name in DESIGN else "held-out", "share": share, "seed": seed}
        for name, share, seed in product(FAMILIES, SHARES, range(seeds))
    ]


def play(cell: Cell) -> Row:
    """Run every rule that can be had on one draw of the stream."""
    stream = FAMILIES[cell["stream"]](cell["seed"])
    budget = labels_of(cell["share"], stream.horizon)
    found = {kind.__name__: play_kind(kind, budget, stream, COINS + cell["seed"]) for kind in RULES}
    ran = {name: totals for name, totals in found.items() if totals}
    queries, regret = (list(column) for column in zip(*ran.values(), strict=True))
    return {
        "horizon": stream.horizon,
        "budget": budget,
        "rule": list(ran),
        "queries": queries,
        "regret": regret,
    }


def play_kind(kind: type[Rule], budget: int, stream: Stream, coins: int) -> tuple[int, float] | None:
    """Return labels bought and regret; None for a rule that needs more labels, or domains that are known."""
    model = model_of(stream)
    try:
        # In hindsight the coins are known too: α then buys the budget to the last label.
        rule = rule_for_budget(kind, budget, model, stream, seed=coins)
    except ValueError:
        return None
    totals = run(Learner(model, rule, seed=coins), stream).totals
    return totals.queries, totals.regret


def judge(table: pl.DataFrame) -> list[Statement]:
    """Say whether the rule that users get spends its budget, and as well as hindsight would."""
    found = scores.judge(table, JUDGED, "known horizon", MOST, WORST)
    return found + scores.averages(table, FOR_TABLES, "known horizon", MOST)


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return all rules side by side, over all streams and stream by stream."""
    return [scores.list_rules(table, NAMES), scores.list_streams(table, NAMES)]


def draw(table: pl.DataFrame) -> Figure:
    """Draw the ratio on every stream."""
    return draw_strips(table, NAMES)


def in_brief(cell: Cell) -> bool:
    """Four short streams do for a first look."""
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
