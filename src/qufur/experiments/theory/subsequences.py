"""Bounds within any subsequence, although the learner does not know the subsequence (after Theorem 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from functools import partial

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of, judge_shares
from qufur.figures.style import LOOKS, subplots
from qufur.models import Ridge
from qufur.rules import QuFUR
from qufur.streams import HiddenDomains
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import per_seed
from qufur.theory import Bounds, Structure, qufur_order, subsequence_bounds

NOISE = 1.0
STRUCTURE = Structure(durations=[4_000, 1_000, 10_000, 500, 4_500], dims=[8, 3, 2, 12, 4])
ALPHAS = (0.3, 3.0)
CONSTANT = 2.0
"""Constant of the order: a single domain has Q = √2 · √(α d T)."""


def subsequences() -> dict[str, Ints]:
    """Return sets of positions that are fixed before the run."""
    T, ends = STRUCTURE.horizon, np.cumsum(STRUCTURE.durations)
    everything = np.arange(T)
    domain = np.searchsorted(ends, everything, side="right")
    chosen = {f"domain {u + 1}": everything[domain == u] for u in range(len(ends))}
    return chosen | {
        "all": everything,
        "first tenth": everything[: T // 10],
        "last tenth": everything[-T // 10 :],
        "every 7th": everything[::7],
        "random 1 %": np.sort(np.random.default_rng(0).choice(T, T // 100, replace=False)),
        "random half": np.sort(np.random.default_rng(1).choice(T, T // 2, replace=False)),
        "domains 2 and 4": everything[np.isin(domain, (1, 3))],
        "200 around each shift": np.concatenate([np.arange(end - 100, end + 100) for end in ends[:-1]]),
        "first 20 of each domain": np.concatenate([np.arange(s, s + 20) for s in ends - STRUCTURE.durations]),
        "second half of domain 3": everything[domain == 2][5_000:],
    }


def dimension(positions: Ints) -> int:
    """Return d_I: each domain adds its dimension, or its number of examples if that is smaller."""
    domain = np.searchsorted(np.cumsum(STRUCTURE.durations), positions, side="right")
    counts = np.bincount(domain, minlength=len(STRUCTURE.dims))
    return int(np.minimum(counts, STRUCTURE.dims).sum())


def cells(seeds: int) -> list[Cell]:
    """Run both α on the same streams."""
    return cells_of(seed=range(seeds), alpha=ALPHAS)


def play(cell: Cell) -> Row:
    """Run QuFUR(α) once and sum queries and regret within every subsequence."""
    seed = cell["seed"]
    stream = HiddenDomains(STRUCTURE.durations, STRUCTURE.dims, noise=NOISE, seed=seed)
    records = play_rule(Ridge(stream.dim, noise=NOISE), QuFUR(cell["alpha"]), stream, seed).records
    row: Row = {}
    for name, positions in subsequences().items():
        row[f"queries {name}"] = int(records["query"][positions].sum())
        row[f"regret {name}"] = float(records["regret"][positions].sum())
    return row


def judge(table: Table) -> list[Statement]:
    """Compare the means within each subsequence with the bounds, with and without constants."""
    source = "after Theorem 1"
    subject = f"E[Q] and E[R] within each of {len(subsequences())} subsequences are"
    of_orders = f"{subject} at most {CONSTANT:.0f} times their orders"
    bound_shares = shares(table, partial(subsequence_bounds, delta=None))
    return [
        judge_shares(source, f"{subject} below the bounds with constants", bound_shares),
        judge_shares(source, of_orders, shares(table, order), limit=CONSTANT),
    ]


def order(size: int, dim: int, alpha: float) -> Bounds:
    """Return the order of the bounds on a subsequence."""
    return qufur_order(Structure([size], [dim]), alpha)


def shares(table: Table, bounds_of: Callable[[int, int, float], Bounds]) -> Floats:
    """Return mean queries and regret over bounds, each with a row per subsequence and a column per α."""
    rows = []
    for name, positions in subsequences().items():
        bounds = [astuple(bounds_of(len(positions), dimension(positions), alpha)) for alpha in ALPHAS]
        means = [per_seed(table, ["alpha"], f"{part} {name}").mean(axis=0) for part in ("queries", "regret")]
        rows.append(means / np.transpose(bounds))
    return np.stack(rows, axis=1)


def draw(table: Table) -> Figure:
    """Draw queries and regret within each subsequence in units of their order."""
    figure, panels = subplots(1, 2, width=5.0, height=4.6)
    parts = shares(table, order)
    names = list(subsequences())
    for panel, title, values in zip(panels, ("queries Q", "regret R"), parts, strict=True):
        for alpha, column, face in zip(ALPHAS, values.T, ("white", None), strict=True):
            look = {"ls": "", "ms": 5, "mfc": face, **LOOKS["QuFUR"]}
            panel.plot(column, range(len(names)), label=f"α = {alpha}", **look)
        panel.axvline(CONSTANT, color="0.5", lw=0.8, ls=":")
        panel.set(xlabel=f"{title} within I, in units of its order", xlim=(0, 1.1 * CONSTANT))
        panel.set_yticks(range(len(names)), names if panel is panels[0] else [""] * len(names))
        panel.invert_yaxis()
    panels[1].legend(frameon=False, loc="lower right")
    return figure


EXPERIMENT = Experiment("subsequences", "Queries and regret within subsequences", cells, play, draw, judge)
