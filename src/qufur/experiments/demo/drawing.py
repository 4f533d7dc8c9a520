"""The two figures of the demonstration: error against labels, and error over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.experiments.demo.digits import BLOCK, SHIFTS, STRETCHES
from qufur.experiments.real.curves import WAYS
from qufur.experiments.statistics import per_seed
from qufur.figures.bands import draw_bands, margins
from qufur.figures.style import LOOKS, share_legend, subplots

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

ERROR = "share of pictures mistaken"
TOP = 0.8
"""The end of the axis of errors over time: guessing has 0.75."""
NOTICED: dict[str, Any] = {
    "ls": "none",
    "marker": "v",
    "ms": 8,
    "color": "#D55E00",
    "clip_on": False,
    "label": "shift noticed",
}


def draw_budgets(runs: pl.DataFrame) -> Figure:
    """Draw error against labels, with 95 % bands over seeds."""
    figure, (panel,) = subplots(1, 1, width=6.0, height=4.4)
    curves = {}
    for rule in WAYS:
        rows = runs.filter(runs["rule"] == rule)
        labels = per_seed(rows, ["parameter"], "queries").mean(axis=0)
        curves[rule] = labels, per_seed(rows, ["parameter"], "error rate")
    draw_bands(panel, curves, WAYS)
    panel.set(ylabel=ERROR)
    panel.set_ylim(bottom=0)
    share_legend(figure, panel)
    return figure


def draw_time(table: pl.DataFrame, share: float, found: Sequence[int]) -> Figure:
    """Draw the error over time at one budget, above the labels bought; dashed lines are turns.

    Parameters
    ----------
    table
        A row per run and block of time.
    share
        The budget.
    found
        Where the inputs of the first order were seen to shift.
    """
    figure, panels = subplots(2, 1, width=6.0, height=2.2)
    above, below = panels
    for rule, name in WAYS.items():
        rows = table.filter((table["rule"] == rule) & (table["parameter"] == share))
        ends = rows["start"].unique().sort().to_numpy() + BLOCK
        errors, color = per_seed(rows, ["start"], "wrong") / BLOCK, LOOKS[rule]["color"]
        mean, margin = errors.mean(axis=0), margins(errors)
        low, high = np.maximum(mean - margin, 0.0), np.minimum(mean + margin, 1.0)
        above.fill_between(ends - BLOCK / 2, low, high, color=color, alpha=0.15, lw=0)
        above.plot(ends - BLOCK / 2, mean, color=color, marker=LOOKS[rule]["marker"], ms=4, label=name)
        bought = per_seed(rows, ["start"], "bought").mean(axis=0).cumsum()
        below.plot([0, *ends], [0, *bought], color=color, lw=1.8)
    for panel in panels:
        for shift in SHIFTS:
            panel.axvline(shift, color="0.35", lw=1.0, ls="--")
        panel.set_xlim(0, ends[-1])
    below.set_ylim(bottom=0)
    above.set_ylim(0, TOP)
    above.plot(found, [TOP] * len(found), **NOTICED)
    for place, stretch in zip((0, *SHIFTS), STRETCHES, strict=True):
        above.annotate(stretch, (place, TOP), (6, -13), textcoords="offset points", color="0.3", size="small")
    above.set(ylabel="share mistaken")
    below.set(ylabel="labels bought", xlabel="pictures")
    share_legend(figure, above, 2)
    return figure
