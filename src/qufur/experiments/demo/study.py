"""The demonstration: the same experts on labels that `Steady` chooses and on labels at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.experiments.base import Cell, Experiment, Statement
from qufur.experiments.cached_streams import stream_of
from qufur.experiments.demo.digits import BLOCK, CLASSES, SHIFTS, turning_digits
from qufur.experiments.demo.drawing import draw_budgets
from qufur.experiments.real.methods import OURS, SAME, at_random, steady
from qufur.experiments.statistics import jackknife, per_seed, ratio
from qufur.models import Model
from qufur.rules.from_budget import labels_of
from qufur.streams import Arrays
from qufur.sweep.tasks import Row

if TYPE_CHECKING:
    import polars as pl

SHARE = 0.08
"""The budget that the demonstration is about."""
SHARES = {OURS: (0.04, 0.08), SAME: (0.04, 0.08, 0.12, 0.16)}


def cells(seeds: int) -> list[Cell]:
    """Return both ways at their budgets, the longest first: no process is left with one at the end."""
    runs = [(rule, share) for rule, shares in SHARES.items() for share in shares]
    runs.sort(key=lambda run: -run[1])
    return [{"rule": rule, "parameter": share, "seed": seed} for seed in range(seeds) for rule, share in runs]


def play(cell: Cell) -> Row:
    """Run one way, and count labels and mistakes block by block."""
    stream = stream_of(turning_digits, cell["seed"])
    wrong, query = _played(stream, cell["rule"], labels_of(cell["parameter"], stream.horizon), cell["seed"])
    places = np.arange(0, stream.horizon, BLOCK)
    return {
        "start": places.tolist(),
        "wrong": np.add.reduceat(wrong, places).astype(int).tolist(),
        "bought": np.add.reduceat(query.astype(int), places).tolist(),
    }


def experts(seed: int = 0) -> Model:
    """Return the model of both ways."""
    from qufur.models import Experts

    return Experts(classes=range(CLASSES), seed=seed)


def _played(stream: Arrays, rule: str, budget: int, seed: int) -> tuple[Floats, Bools]:
    """Return mistakes and purchases, row by row; the first label is bought by both and counts for none."""
    if rule == OURS:
        trace = steady(experts(seed), stream, budget, seed)
        return np.append(0.0, trace.loss[1:]), trace.query
    trace = at_random(experts(seed), stream, budget, seed)
    return np.append(0.0, trace.loss), np.append(True, trace.query)


def runs(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row per run: labels, and the share of mistakes."""
    import polars as pl

    rows = pl.col("start").max() + BLOCK - 1
    error = (pl.col("wrong").sum() / rows).alias("error rate")
    by = ["rule", "parameter", "seed"]
    return table.group_by(by, maintain_order=True).agg(pl.col("bought").sum().alias("queries"), error)


def in_stretches(table: pl.DataFrame, rule: str) -> Floats:
    """Return the share of mistakes in each stretch at the budget in question, the mean over seeds."""
    rows = table.filter((table["rule"] == rule) & (table["parameter"] == SHARE))
    wrong = per_seed(rows, ["start"], "wrong").mean(axis=0)
    ends = [shift // BLOCK for shift in SHIFTS]
    return np.array([part.mean() / BLOCK for part in np.split(wrong, ends)])


def judge(table: pl.DataFrame) -> list[Statement]:
    """Say whether choosing helped at the budget in question."""
    found = runs(table)
    ratios = {
        share: jackknife(ratio, np.column_stack([_errors(found, rule, share) for rule in (OURS, SAME)]))
        for share in SHARES[OURS]
        if len(_errors(found, OURS, share))
    }
    listed = ", ".join(
        f"{r.value:.2f} ± {r.high - r.value:.2f} at {share:.0%}" for share, r in ratios.items()
    )
    return [
        Statement(
            "this demonstration",
            f"mistakes are fewer than with as many labels at random, at {SHARE:.0%} of the labels",
            f"ratio {listed}",
            ratios[SHARE].within(0.0, 1.0),
        )
    ]


def _errors(found: pl.DataFrame, rule: str, share: float) -> Floats:
    rows = found.filter((found["rule"] == rule) & (found["parameter"] == share)).sort("seed")
    return np.asarray(rows["error rate"].to_numpy())


def in_brief(cell: Cell) -> bool:
    """Keep the budget in question, and the smallest at random."""
    return bool(cell["parameter"] == SHARE or (cell["parameter"] == SHARES[SAME][0] and cell["rule"] == SAME))


EXPERIMENT = Experiment(
    "demo",
    "Digits that turn: chosen labels and labels at random",
    cells,
    play,
    lambda table: draw_budgets(runs(table)),
    judge,
    seeds=5,
    in_brief=in_brief,
)
