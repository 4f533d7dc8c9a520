"""Rates instead of budgets: regret against QuFUR with α tuned in hindsight, at equal labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Bools
from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.learner import Learner
from qufur.rules import Paced, QuFUR, Rule, Uniform
from qufur.rules.paced import default_burst
from qufur.run import run
from qufur.sweep.tasks import Row
from studies.pacing import scores
from studies.pacing.known_horizon import DRAW_SEED_OFFSET, cells, in_brief, play_rule_class
from studies.pacing.streams import FAMILIES, model_of
from studies.pacing.strips import draw_strips

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

RIVALS: tuple[type[Rule], ...] = (QuFUR, Uniform)
NAMES = ("QuFUR", "Paced", "Uniform")
MOST = 1.3


def play(cell: Cell) -> Row:
    """Run `Paced` at a rate, then its rivals with the number of labels that it bought."""
    stream, draw_seed = FAMILIES[cell["stream"]](cell["seed"]), DRAW_SEED_OFFSET + cell["seed"]
    rule = Paced(cell["share"])
    trace = run(Learner(model_of(stream), rule, seed=draw_seed), stream)
    rivals = {
        rule_class.__name__: play_rule_class(rule_class, trace.queries, stream, draw_seed)
        for rule_class in RIVALS
    }
    results = {"Paced": (trace.queries, trace.total_regret)} | {
        name: totals for name, totals in rivals.items() if totals
    }
    return {
        "horizon": stream.horizon,
        "budget": trace.queries,
        "over": excess(trace.query, cell["share"]),
        "rule": list(results),
        "queries": [queries for queries, _ in results.values()],
        "regret": [regret for _, regret in results.values()],
    }


def excess(query: Bools, rate: float) -> float:
    """Return the largest number of labels by which a window of a run exceeds its rate.

    >>> excess(np.array([True, False, True, True, False]), 0.5)
    1.0
    """
    walk = np.append(0.0, np.cumsum(query - rate))
    return float((walk - np.minimum.accumulate(walk)).max())


def judge(table: pl.DataFrame) -> list[Statement]:
    """Evaluate whether every window keeps the rate, and the regret without a known horizon."""
    over = table["over"].to_numpy() - np.array([default_burst(rate) for rate in table["share"]])
    return [
        Statement(
            "unknown horizon",
            "no window of n examples has more than ρn + burst labels",
            f"at least {-over.max():.1f} labels fewer",
            bool(over.max() <= 1e-6),  # a sum of thousands of rates is rounded
        ),
        *scores.averages(table, "Paced", "unknown horizon", MOST),
    ]


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return tables of rules and streams, and the labels bought at each rate ρ, as a share of ρT."""
    paced = table.filter(table["rule"] == "Paced")
    rates = paced["share"].unique().sort()
    bought = [
        [name, *(_bought(rows.filter(rows["share"] == rate)) for rate in rates)]
        for name, rows in scores.groups(paced).items()
    ]
    header = ["labels ÷ ρT", *(f"ρ = {rate:.0%}" for rate in rates)]
    return [
        scores.list_rules(table, NAMES),
        scores.list_streams(table, NAMES),
        Listing("Labels bought at each rate", header, bought),
    ]


def _bought(rows: pl.DataFrame) -> str:
    queries, share, horizon = (rows[name].to_numpy() for name in ("queries", "share", "horizon"))
    return f"{np.mean(queries / (share * horizon)):.2f}"


def draw(table: pl.DataFrame) -> Figure:
    """Draw the ratio on every stream."""
    return draw_strips(table, NAMES)


EXPERIMENT = Experiment(
    "pacing-rate",
    "A rate of labels against α tuned in hindsight",
    cells,
    play,
    draw,
    judge,
    in_brief=in_brief,
    listings=listings,
)
