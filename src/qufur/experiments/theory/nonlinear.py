"""Algorithm 3 against Algorithm 1 on a linear class, and Algorithm 4 (Theorems 4 and 5)."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np

from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table
from qufur.figures.style import LOOKS, plain_ticks, subplots
from qufur.hypotheses import LinearBall
from qufur.models import ConfidenceSet, Model, Ridge
from qufur.rules import FixedBudget, QuFUR
from qufur.streams import HiddenDomains, MostUncertain, Stream
from qufur.sweep.equal_labels import ratios_at_equal_labels
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import every, per_seed
from qufur.theory import Bounds, Structure, linear_eluder_bound, nonlinear_bounds, nonlinear_budget_bounds
from qufur.theory.nonlinear import LARGEST

STRUCTURE, NOISE = Structure([200, 400], [3, 1]), 1.0
QUIET_STRUCTURE, QUIET_NOISE = Structure([400, 400], [1, 1]), 0.01
"""The bound on the regret is below the trivial 4T only if there is little noise in very few dimensions."""

RADIUS = 9.5
"""A practical β: the 95 % point of χ²_4, the law of Σ (f̂ − f*)²/η² if queries did not depend on labels."""

DELTA = 0.05
SHARES = (0.1, 0.2, 0.4)
ONE, PAPER, PRACTICAL = "Algorithm 1", "Algorithm 3", f"Algorithm 3, β = {RADIUS}"
QUIET, FOUR, ADVERSARY = "Algorithm 3, little noise", "Algorithm 4", "Algorithm 4, adversary"
PARAMETERS = {
    ONE: (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    PAPER: (0.015, 0.045, 0.13),  # Δ is 4 for the first β or so labels of a direction: Q ≈ 4αT
    PRACTICAL: (0.01, 0.06, 0.3, 1.5),
    QUIET: (0.01, 10.0),  # the first bounds Q well, the second R
    FOUR: (150,),
    ADVERSARY: (150,),
}
RED = {"color": "#D55E00", "marker": "o"}
CURVES = {ONE: LOOKS["QuFUR"], PAPER: RED, PRACTICAL: {**RED, "ls": "--", "mfc": "none"}}


def cells(seeds: int) -> list[Cell]:
    """Run every rule on the same streams, except for the adversary, which is adaptive."""
    rules = [(rule, float(value)) for rule, values in PARAMETERS.items() for value in values]
    return [
        {"seed": seed, "rule": rule, "parameter": value} for seed in range(seeds) for rule, value in rules
    ]


def play(cell: Cell) -> Row:
    """Run one rule and check that every error is within its uncertainty."""
    name, seed = cell["rule"], cell["seed"]
    structure, noise = setting(name)
    stream: Stream = HiddenDomains(structure.durations, structure.dims, noise=noise, seed=seed)
    if name == ADVERSARY:
        stream = MostUncertain(stream.dim, structure.horizon, noise=noise, seed=seed)
    value, budgeted = cell["parameter"], name in (FOUR, ADVERSARY)
    rule = FixedBudget(round(value), structure.horizon) if budgeted else QuFUR(value)
    trace = play_rule(_model(name, stream), rule, stream, seed)
    within = bool((trace.regret <= trace.uncertainty + 1e-9).all())
    sums = {"horizon": len(trace), "queries": trace.queries, "regret": trace.total_regret}
    return {**sums, "within": within, "smallest": float(trace.uncertainty.min())}


def setting(rule: str) -> tuple[Structure, float]:
    """Return the domains and the noise of a rule's streams."""
    return (QUIET_STRUCTURE, QUIET_NOISE) if rule == QUIET else (STRUCTURE, NOISE)


def _model(rule: str, stream: Stream) -> Model:
    noise = setting(rule)[1]
    if rule == ONE:
        return Ridge(stream.dim, noise=noise)
    radius = RADIUS if rule == PRACTICAL else None
    ball = LinearBall(stream.dim)
    return ConfidenceSet(ball, horizon=stream.horizon, radius=radius, noise=noise, failure_probability=DELTA)


def judge(table: Table) -> list[Statement]:
    """Compare regrets at equal labels, and runs with the bounds."""
    budgeted = table.filter(table["rule"].is_in([FOUR, ADVERSARY]))
    spent = (budgeted["queries"] / budgeted["parameter"]).to_numpy()
    return [
        _judge_ratios(table, PAPER, "the paper's β"),
        _judge_ratios(table, PRACTICAL, f"β = {RADIUS}"),
        _judge_bounds(table, QUIET, "Theorem 5", "Algorithm 3 with little noise"),
        Statement(
            "Theorem 4",
            "Algorithm 4 never exceeds its budget, not even against the adaptive adversary",
            f"Q at most {spent.max():.2f}B",
            bool(spent.max() <= 1),
        ),
        _judge_bounds(table, FOUR, "Theorem 4", "Algorithm 4"),
        _judge_bounds(table, ADVERSARY, "Theorem 4", "Algorithm 4 against the adaptive adversary"),
        _judge_within(table),
    ]


def _judge_ratios(table: Table, rule: str, radius: str) -> Statement:
    ratios = ratios_at_equal_labels(table, "regret", rule, ONE, SHARES)
    dim = sum(STRUCTURE.dims)
    return Statement(
        "after Theorem 4",
        f"with {radius} Algorithm 3's regret is at most d = {dim} times Algorithm 1's at equal labels",
        ", ".join(f"{interval} times at {share:.0%}" for share, interval in ratios.items())
        or "no labels in common",
        every(ratios[share].within(-math.inf, dim) if share in ratios else None for share in SHARES),
    )


def _judge_bounds(table: Table, rule: str, source: str, subject: str) -> Statement:
    rows = table.filter(rule=rule)
    limits = np.array([astuple(bounds_of(rule, value)) for value in rows["parameter"]])
    below = np.all(rows.select("queries", "regret").to_numpy() <= limits, axis=1)
    q_bound, r_bound = limits.min(axis=0)
    T = setting(rule)[0].horizon
    return Statement(
        source,
        f"{subject}: Q and R are below bounds that are not trivial, in at least {1 - DELTA:.0%} of the runs",
        f"in {below.sum()} of {len(below)}; R at most {rows['regret'].to_numpy().max():.3g}; "
        f"the lowest bounds are {q_bound:.0f} of {T} labels and {r_bound / (4 * T):.2f} of the trivial 4T",
        # A bound that cannot be exceeded is not tested.
        bool(below.mean() >= 1 - DELTA) if r_bound < 4 * T else None,
    )


def bounds_of(rule: str, parameter: float) -> Bounds:
    """Return the bounds of Theorem 5, or for a budget those of Theorem 4."""
    structure, noise = setting(rule)
    T, dim = structure.horizon, sum(structure.dims)
    domains = [(T, dim)] if rule == ADVERSARY else list(zip(structure.durations, structure.dims, strict=True))
    eluder = [linear_eluder_bound(d_u, T_u**-2.0) for T_u, d_u in domains]
    complexity = Structure([T_u for T_u, _ in domains], eluder)
    log_covering = LinearBall(dim).log_covering(T**-2.0)
    settings = {"log_covering": log_covering, "noise": noise, "delta": DELTA}
    if rule in (FOUR, ADVERSARY):
        return nonlinear_budget_bounds(complexity, round(parameter), **settings)
    return nonlinear_bounds(complexity, parameter, **settings)


def _judge_within(table: Table) -> Statement:
    # No squared error exceeds 4; the tolerance absorbs rounding.
    informative = table.filter(table["smallest"] < LARGEST - 1e-9)
    paper, practical = (
        informative.filter(informative["rule"].is_in(rules))["within"].to_numpy()
        for rules in ([PAPER, QUIET, FOUR, ADVERSARY], [PRACTICAL])
    )
    return Statement(
        "proof of Theorem 4",
        f"(f̂(x) − f*(x))² ≤ Δ at every step, with the paper's β, in at least {1 - DELTA:.0%} of the runs "
        "in which Δ fell below 4",
        f"in {paper.sum()} of {len(paper)}; with β = {RADIUS} in {practical.sum()} of {len(practical)}",
        bool(paper.mean() >= 1 - DELTA) if len(paper) else None,
    )


def draw(table: Table) -> Figure:
    """Draw regret against queries, then the ratios at equal labels."""
    figure, (first, second) = subplots(1, 2)
    for rule, look in CURVES.items():
        rows = table.filter(rule=rule)
        Q, R = (per_seed(rows, ["parameter"], column).mean(axis=0) for column in ("queries", "regret"))
        first.plot(Q, R, label=rule, ms=5, lw=1.2, **look)
    four = table.filter(rule=FOUR)
    first.plot(four["queries"].mean(), four["regret"].mean(), label=FOUR, ms=6, ls="", **LOOKS["FixedBudget"])
    first.set(xscale="log", yscale="log", title="Regret against queries")
    first.set(xlabel="queries Q", ylabel="regret R")
    plain_ticks(first)
    first.legend(frameon=False, fontsize="small")
    for rule, shift in ((PAPER, 0.98), (PRACTICAL, 1.02)):
        ratios = ratios_at_equal_labels(table, "regret", rule, ONE, SHARES)
        value, low, high = np.reshape([astuple(interval) for interval in ratios.values()], (-1, 3)).T
        percent, yerr = 100 * shift * np.array(list(ratios)), [value - low, high - value]
        second.errorbar(percent, value, yerr=yerr, ms=5, lw=1.2, capsize=2, **CURVES[rule])
    for level in (1, sum(STRUCTURE.dims)):
        second.axhline(level, color="0.5", lw=0.8, ls=":")
    second.set(xlabel="labels, % of the stream", ylabel="regret / that of Algorithm 1", ylim=(0, None))
    second.set_title("At equal labels; dotted: 1 and d")
    return figure


EXPERIMENT = Experiment("nonlinear", "Confidence sets against ridge regression", cells, play, draw, judge)
