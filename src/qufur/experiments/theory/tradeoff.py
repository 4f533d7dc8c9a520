"""Trade-off in α: Q ∝ √α, R ∝ 1/√α, Q ≈ αR, and α = c minimises cR + Q (Theorems 1 and 9)."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of, judge_shares
from qufur.figures.style import LOOKS, subplots
from qufur.models import Ridge
from qufur.rules import QuFUR
from qufur.streams import HiddenDomains
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import jackknife, per_seed, slope
from qufur.theory import Structure, cost_bound, qufur_bounds

STRUCTURE = Structure(durations=[20_000, 40_000, 40_000], dims=[2, 4, 1])
NOISE = 1.0
ALPHAS = np.geomspace(0.1, 10.0, 9)
MARGIN = 2
COSTS = ALPHAS[MARGIN:-MARGIN]
"""Cost ratios c for which α = c has grid points on both sides."""

REPEATS = 5
"""Streams per requested seed: the regret in few dimensions has a large variance."""


def cells(seeds: int) -> list[Cell]:
    """Run every α on the same streams."""
    return cells_of(seed=range(REPEATS * seeds), alpha=ALPHAS.tolist())


def play(cell: Cell) -> Row:
    """Run QuFUR(α) on one draw of the stream."""
    seed = cell["seed"]
    stream = HiddenDomains(STRUCTURE.durations, STRUCTURE.dims, noise=NOISE, seed=seed)
    totals = play_rule(Ridge(stream.dim, noise=NOISE), QuFUR(cell["alpha"]), stream, seed).totals
    return {"queries": totals.queries, "regret": totals.regret}


def judge(table: Table) -> list[Statement]:
    """Fit the slopes and locate the cheapest α."""
    Q, R = (per_seed(table, ["alpha"], column) for column in ("queries", "regret"))
    bounds = [astuple(qufur_bounds(STRUCTURE, alpha, noise=NOISE, delta=None)) for alpha in ALPHAS]
    shares = np.mean([Q, R], axis=1) / np.transpose(bounds)
    balance = Q.mean(axis=0) / (ALPHAS * R.mean(axis=0))
    return [
        _judge_slope("Q grows as α^0.5", Q, 0.5),
        _judge_slope("R falls as α^-0.5", R, -0.5),
        judge_shares("Theorem 1", "E[Q] and E[R] are below the bounds with constants, at every α", shares),
        Statement(
            "after Theorem 1",
            "Q ≈ αR at noise 1: Q/(αR) between 1/2 and 2 at every α",
            f"{balance.min():.2f} to {balance.max():.2f}",
            bool(balance.min() >= 1 / 2 and balance.max() <= 2),
        ),
        *_judge_cost(Q, R),
    ]


def _judge_slope(claim: str, samples: Floats, expected: float) -> Statement:
    measured = jackknife(lambda part: slope(ALPHAS, part), samples)
    holds = measured.within(expected - 0.05, expected + 0.05)
    return Statement("Theorem 1", f"{claim}, within 0.05, over two decades", f"α^{measured}", holds)


def _judge_cost(Q: Floats, R: Floats) -> list[Statement]:
    costs = mean_costs(Q, R)
    cheapest = ALPHAS[costs.argmin(axis=1)] / COSTS
    extra = np.diagonal(costs, MARGIN) / costs.min(axis=1)
    bounds = [cost_bound(STRUCTURE, c, noise=NOISE, delta=None) for c in COSTS]
    share = max(np.diagonal(costs, MARGIN) / bounds)
    return [
        Statement(
            "Theorem 9",
            "cR + Q is lowest near α = c: the cheapest α of the grid within a factor 2 of c",
            f"α/c {cheapest.min():.2f} to {cheapest.max():.2f}, for c {COSTS[0]:.2g} to {COSTS[-1]:.2g}",
            bool(cheapest.min() >= 1 / 2 and cheapest.max() <= 2),
        ),
        Statement(
            "Theorem 9",
            "α = c costs at most 10 % more than the cheapest α",
            f"at most {100 * (extra.max() - 1):.1f} % more",
            bool(extra.max() <= 1.1),
        ),
        Statement(
            "Theorem 9",
            "the expected cost at α = c is below the bound with constants",
            f"at most {share:.2f} of it",
            bool(share <= 1),
        ),
    ]


def mean_costs(Q: Floats, R: Floats) -> Floats:
    """Return cR + Q, a row per c and a column per α."""
    return np.asarray(COSTS[:, None] * R.mean(axis=0) + Q.mean(axis=0))


def draw(table: Table) -> Figure:
    """Draw Q and R against α, then the total cost against α/c."""
    Q, R = (per_seed(table, ["alpha"], column) for column in ("queries", "regret"))
    figure, (first, second) = subplots(1, 2)
    for name, samples, sign, colour in (
        ("queries Q", Q, 1, LOOKS["QuFUR"]["color"]),
        ("regret R", R, -1, LOOKS["Uniform"]["color"]),
    ):
        mean = samples.mean(axis=0)
        error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples)) if len(samples) > 1 else None
        first.errorbar(ALPHAS, mean, yerr=error, fmt="o", ms=4, color=colour, label=name)
        middle = np.exp(np.log(mean).mean())
        first.plot(ALPHAS, middle * ALPHAS ** (sign / 2), lw=1, ls="--", color=colour)
    first.set(xscale="log", yscale="log", xlabel="α", title="Queries and regret; dashed: slopes ±½")
    first.legend(frameon=False)
    for c, row in zip(COSTS, mean_costs(Q, R), strict=True):
        second.plot(ALPHAS / c, row / row.min(), marker="o", ms=3, lw=1.2, label=f"c = {c:.2g}")
    second.axvline(1.0, color="0.5", lw=0.8, ls=":")
    second.set(
        xscale="log", xlabel="α / c", ylabel="(cR + Q) / its lowest", title="Total cost; dotted: α = c"
    )
    second.legend(frameon=False, fontsize="small")
    return figure


def in_brief(cell: Cell) -> bool:
    """Select four streams for a quick run."""
    return bool(cell["seed"] < 4)


EXPERIMENT = Experiment(
    "tradeoff", "Queries, regret and total cost against α", cells, play, draw, judge, in_brief=in_brief
)
