"""Three lines of Python on an unprepared table, against scaled inputs and settings tuned in hindsight."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import missing_among, provenance, stream_of, why_missing
from qufur.figures.style import subplots_for
from qufur.learner import Learner
from qufur.models import Model
from qufur.rules import Steady
from qufur.rules.from_budget import labels_of
from qufur.run import run
from qufur.streams import Stream
from qufur.sweep.tasks import Row
from studies.real.methods import ridge_for, scaled_table
from studies.real.ratios import Ratio, geometric_mean
from studies.real.tables import RealTable, abalone, bike, diabetes

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

RAW, SCALED = "three lines", "scaled, range given"
PENALTIES = (0.01, 0.1, 1.0, 10.0)
TUNED = (SCALED, *(f"Ridge, λ = {penalty:g}" for penalty in PENALTIES))
MOST = 1.05
LOWEST, HIGHEST = 5.0, 1000.0


def abalone_in_odd_units(seed: int = 0) -> RealTable:
    """Rings as 5 to 1000, from columns in units of a thousandth to a million, the first like a time stamp."""
    table = abalone()
    X = table.X * 10.0 ** (np.arange(table.dim) % 10 - 3)
    X[:, 0] += 1.7e9
    rings = (table.y - table.y.min()) / np.ptp(table.y)
    return RealTable(X, LOWEST + (HIGHEST - LOWEST) * rings, table.provenance)


TABLES = {"bike": bike, "abalone in odd units": abalone_in_odd_units, "diabetes": diabetes}
SECONDS = {"bike": 15.0, "abalone in odd units": 12.0, "diabetes": 6.0}
"""Approximate seconds of experts on each table; `Ridge` takes none."""
SHARES = {"bike": 0.02, "abalone in odd units": 0.06, "diabetes": 0.3}


def cells(seeds: int) -> list[Cell]:
    """Return the cells of every available table: raw, and with each tuned method."""
    available = [name for name, make in TABLES.items() if why_missing(make) is None]
    return [
        {"stream": name, "data": provenance(TABLES[name]), "way": way, "seed": seed}
        for name, way, seed in product(available, (RAW, *TUNED), range(seeds))
    ]


def play(cell: Cell) -> Row:
    """Run one method on one table; all methods use the same draws."""
    from qufur.models import Experts

    table, way, seed = stream_of(TABLES[cell["stream"]], 0), cell["way"], cell["seed"]
    budget = labels_of(SHARES[cell["stream"]], table.horizon)
    if way == RAW:
        return {"loss": _three_lines(table, budget, seed)}
    scaled = scaled_table(table)
    label_range = float(table.y.min()), float(table.y.max())
    model: Model = Experts(label_range=label_range)
    if way != SCALED:
        model = ridge_for(scaled, PENALTIES[TUNED.index(way) - 1])
    trace = run(Learner(model, Steady(budget, table.horizon), seed=seed), scaled)
    return {"loss": float(trace.loss[1:].mean())}


def _three_lines(table: Stream, budget: int, seed: int) -> float:
    from qufur.models import Experts

    trace = run(Learner(Experts(), Steady(budget, table.horizon), seed=seed), table)
    return float(trace.loss[1:].mean())


def best_in_hindsight(table: pl.DataFrame) -> dict[str, tuple[str, Ratio]]:
    """Return, for each table, the best tuned method and the ratio to it."""
    ratios = {}
    for name in table["stream"].unique(maintain_order=True):
        rows = table.filter(table["stream"] == name).sort("seed")
        losses = {way: rows.filter(rows["way"] == way)["loss"].to_numpy() for way in (RAW, *TUNED)}
        best = min(TUNED, key=lambda way: float(losses[way].mean()))
        ratios[name] = best, Ratio.paired(losses[RAW], losses[best])
    return ratios


def judge(table: pl.DataFrame) -> list[Statement]:
    """Evaluate whether three lines do as well as the best tuned method."""
    if table.is_empty():
        return []
    each = best_in_hindsight(table)
    mean = geometric_mean([ratio for _, ratio in each.values()])
    exceeds = mean.exceeds(MOST)
    return [
        Statement(
            "real tables, unprepared",
            f"loss ÷ that of the best of scaled inputs and tuned settings is at most {MOST:.2f}",
            f"{mean}; " + ", ".join(f"{name} {ratio}" for name, (_, ratio) in each.items()),
            None if exceeds is None else not exceeds,
        )
    ]


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the ratios, each with the best method in hindsight."""
    rows = [[name, best, str(ratio)] for name, (best, ratio) in best_in_hindsight(table).items()]
    return [Listing("Three lines on raw data", ["table", "best when tuned", "loss ÷ that"], rows)]


def draw(table: pl.DataFrame) -> Figure:
    """Draw the mean loss of every method."""
    names = table["stream"].unique(maintain_order=True).to_list()
    figure, panels = subplots_for(len(names))
    for panel, name in zip(panels, names, strict=True):
        rows = table.filter(table["stream"] == name)
        ways = (RAW, *TUNED)[::-1]
        panel.barh(list(ways), [rows.filter(rows["way"] == way)["loss"].mean() for way in ways], height=0.6)
        panel.set(title=name, xlabel="mean squared loss")
    return figure


def missing() -> dict[str, str]:
    """Return the missing tables, each with the reason."""
    return missing_among(TABLES)


def seconds(cell: Cell) -> float:
    """Return the approximate seconds of a cell."""
    return SECONDS[cell["stream"]] if cell["way"] in (RAW, SCALED) else 0.0


def in_brief(cell: Cell) -> bool:
    """Select one small table for a quick run."""
    return bool(cell["stream"] == "diabetes")


EXPERIMENT = Experiment(
    "real-raw",
    "Real tables as they are",
    cells,
    play,
    draw,
    judge,
    seeds=8,
    in_brief=in_brief,
    missing=missing,
    listings=listings,
    seconds=seconds,
)
