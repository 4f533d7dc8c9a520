"""Error against labels on three real tables: choosing labels helps on two of them, not on the third."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Statement
from qufur.experiments.fixed_budget import WAYS
from qufur.figures.curves import draw_bands
from qufur.figures.style import share_legend, subplots_for
from qufur.sweep.tasks import Row
from studies.real import tables
from studies.real.methods import FOR_CLASSES, FOR_NUMBERS
from studies.real.study import Study

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

STUDIES = {
    "phishing": Study({"phishing": tables.phishing}, FOR_CLASSES),
    "abalone": Study({"abalone": tables.abalone}, FOR_NUMBERS),
    "temperature": Study({"temperature": tables.temperature}, FOR_NUMBERS),
}
SHARES = {
    "phishing": (0.05, 0.1, 0.2, 0.4),
    "abalone": (0.01, 0.02, 0.04, 0.08),
    "temperature": (0.01, 0.02, 0.04, 0.08),
}
ERRORS = {
    "phishing": "share of sites misclassified",
    "abalone": "RMSE, rings",
    "temperature": "RMSE, °F",
}
SECONDS = 5.0


def cells(seeds: int) -> list[Cell]:
    """Return the cells of every available table: four budgets, with chosen and with random labels."""
    available = [name for name, study in STUDIES.items() if not study.missing()]
    return [
        STUDIES[name].origin(name) | {"share": share, "method": way, "seed": seed}
        for seed in range(seeds)
        for name in available
        for share in SHARES[name]
        for way in WAYS
    ]


def play(cell: Cell) -> Row:
    """Run one method on one table."""
    row = STUDIES[cell["stream"]].play(cell)
    error = row["error"] if "error" in row else float(np.sqrt(row["loss"]))
    return {"horizon": row["horizon"], "queries": row["queries"], "error": error}


def curve(table: pl.DataFrame, name: str, way: str) -> tuple[Floats, Floats]:
    """Return the labels of each budget, and the errors of each seed at each budget."""
    rows = table.filter((table["stream"] == name) & (table["method"] == way)).sort("share", "seed")
    seeds = rows["seed"].n_unique()
    labels, errors = (
        rows[key].to_numpy().astype(np.float64).reshape(-1, seeds) for key in ("queries", "error")
    )
    return labels.mean(axis=1), errors.T


def draw(table: pl.DataFrame) -> Figure:
    """Draw a panel per table; bands are 95 % intervals of the mean over seeds."""
    names = table["stream"].unique(maintain_order=True).to_list()
    figure, panels = subplots_for(len(names), width=3.7, height=3.2)
    for panel, name in zip(panels, names, strict=True):
        curves = {way: curve(table, name, way) for way in WAYS}
        draw_bands(panel, curves, WAYS)
        panel.set(title=f"{name}, {table.filter(stream=name)['horizon'][0]} rows", ylabel=ERRORS[name])
    share_legend(figure, panels[0])
    return figure


def judge(table: pl.DataFrame) -> list[Statement]:
    """Return no statements: the other studies of real tables evaluate the result."""
    return []


def missing() -> dict[str, str]:
    """Return the missing tables, each with the reason."""
    return {name: why for study in STUDIES.values() for name, why in study.missing().items()}


def seconds(cell: Cell) -> float:
    """Return the approximate seconds of a cell."""
    return SECONDS


def in_brief(cell: Cell) -> bool:
    """Select one small table at two budgets for a quick run."""
    return bool(cell["stream"] == "phishing" and cell["share"] <= SHARES["phishing"][1])


EXPERIMENT = Experiment(
    "real-curves",
    "Real tables: error against labels",
    cells,
    play,
    draw,
    judge,
    seeds=8,
    in_brief=in_brief,
    missing=missing,
    seconds=seconds,
)
