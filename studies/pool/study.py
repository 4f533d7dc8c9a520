"""Models fitted to fifty rows of real tables, chosen by `qufur choose` or at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import missing_among, provenance, stream_of, why_missing
from qufur.figures.style import looks_of, share_legend, subplots
from qufur.sweep.tasks import Row
from studies.pool.ways import WAYS, models
from studies.real import tables
from studies.real.ratios import Ratio, all_at_most, geometric_mean

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

NUMBERS = {
    "abalone": tables.abalone,
    "cpusmall": tables.cpusmall,
    "bike": tables.bike,
    "diabetes": tables.diabetes,
    "reviews": tables.reviews,
}
CLASSES = {"digits": tables.digits, "breast_cancer": tables.breast_cancer}
TABLES = NUMBERS | CLASSES
BUDGET = 50
MOST_ROWS = 4000
"""Largest number of rows of a pool, and of the evaluation set."""
RANDOM, OURS, *OTHERS = WAYS
IN_MEAN, ON_EACH = 0.90, 1.10
"""Limits of the ratio to random rows."""
TICKS = (0.1, 0.2, 0.5, 0.7, 1, 1.4, 2)
SOURCE = "real tables, pools"

Setting = tuple[str, str]
"""Table and model."""


def cells(seeds: int) -> list[Cell]:
    """Return the cells of every available table and method, ordered by seed."""
    available = {name: make for name, make in TABLES.items() if why_missing(make) is None}
    return [
        {"stream": name, "data": provenance(make), "way": way, "seed": seed}
        for seed in range(seeds)
        for name, make in available.items()
        for way in WAYS
    ]


def play(cell: Cell) -> Row:
    """Choose rows of one half of a table, and return the errors of models on the other half."""
    table, seed = stream_of(TABLES[cell["stream"]], 0), cell["seed"]
    order = np.random.default_rng(seed).permutation(table.horizon)
    half = min(MOST_ROWS, table.horizon // 2)
    pool, test = order[:half], order[half : 2 * half]
    rows = pool[WAYS[cell["way"]](table.X[pool], BUDGET, seed)]
    classes = len(np.unique(table.y)) if cell["stream"] in CLASSES else 0
    labels, y = table.y[rows], table.y[test]
    results = {
        name: error(model.fit(table.X[rows], labels).predict(table.X[test]), y, labels, classes)
        for name, model in models(table.X.shape[1], classes, seed)
    }
    return {"model": list(results), "error": list(results.values())}


def error(predicted: Floats, y: Floats, labels: Floats, classes: int) -> float:
    """Return the share of wrong classes, or the mean squared error of numbers.

    Predicted numbers are clipped to the range of the labels that the model was fitted to.

    >>> error(np.array([5.0, 1.0]), np.array([2.0, 1.0]), np.array([0.0, 3.0]), 0)
    0.5
    """
    if classes:
        return float(np.mean(predicted != y))
    return float(np.mean((np.clip(predicted, labels.min(), labels.max()) - y) ** 2))


def ratios(table: pl.DataFrame, way: str, below: str = RANDOM) -> dict[Setting, Ratio]:
    """Return the error of a method ÷ that of another, on the same halves, per table and model."""
    results = {}
    for stream, model in table.select("stream", "model").unique(maintain_order=True).rows():
        rows = table.filter((table["stream"] == stream) & (table["model"] == model)).sort("seed")
        results[stream, model] = Ratio.paired(
            *(rows.filter(rows["way"] == name)["error"].to_numpy() for name in (way, below))
        )
    return results


def by_table(results: dict[Setting, Ratio]) -> dict[str, Ratio]:
    """Return the geometric mean over models of each table, with the standard error of one sample."""
    names = dict.fromkeys(name for name, _ in results)
    parts = {name: [ratio for (table, _), ratio in results.items() if table == name] for name in names}
    return {name: _mean_of_correlated(part) for name, part in parts.items()}


def _mean_of_correlated(results: list[Ratio]) -> Ratio:
    """Return the geometric mean with the standard error of a single ratio.

    Errors of models on the same rows are correlated, so their mean is as uncertain as one of them.
    """
    mean = geometric_mean(results)
    return Ratio(mean.value, mean.error * len(results) ** 0.5)


def judge(table: pl.DataFrame) -> list[Statement]:
    """Compare with random rows, and with the determinant method."""
    results = by_table(ratios(table, OURS))
    worst = max(results, key=lambda name: results[name].value)
    mean = geometric_mean(list(results.values()))
    rival = geometric_mean(list(by_table(ratios(table, OURS, OTHERS[0])).values()))
    ratio = f"error of models fitted to {BUDGET} chosen rows ÷ that of {BUDGET}"
    return [
        Statement(
            SOURCE,
            f"{ratio} random rows is at most {IN_MEAN:.2f} in the geometric mean",
            str(mean),
            all_at_most([mean], IN_MEAN),
        ),
        Statement(
            SOURCE,
            f"{ratio} random rows is at most {ON_EACH:.2f} on every table",
            f"{results[worst]} ({worst})",
            all_at_most(results.values(), ON_EACH),
        ),
        Statement(
            SOURCE,
            f"{ratio} rows of greedy log-determinant is at most 1 in the geometric mean",
            str(rival),
            all_at_most([rival], 1.0),
        ),
    ]


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the ratios to random rows, for every table and model."""
    results = {way: ratios(table, way) for way in (OURS, *OTHERS)}
    rows = [[*setting, *(str(part[setting]) for part in results.values())] for setting in results[OURS]]
    means = [str(geometric_mean(list(by_table(part).values()))) for part in results.values()]
    header = ["table", "model", *results]
    title = f"Error of models fitted to {BUDGET} rows ÷ that of {BUDGET} random rows"
    return [Listing(title, header, [*rows, ["geometric mean", "", *means]])]


def draw(table: pl.DataFrame) -> Figure:
    """Draw all ratios, a row per table and model, with bars of two standard errors."""
    figure, (panel,) = subplots(1, 1, width=6.4, height=5.4)
    ways = (OURS, *OTHERS)
    for order, (way, look) in enumerate(looks_of(ways).items()):
        results = ratios(table, way)
        at = np.arange(len(results))[::-1] + 0.2 * (1 - order)
        values, bars = [r.value for r in results.values()], [2 * r.error for r in results.values()]
        panel.errorbar(values, at, xerr=bars, ls="none", ms=5, lw=0.8, label=way, **look)
        panel.set_yticks(np.arange(len(results))[::-1], [", ".join(setting) for setting in results])
    panel.axvline(1.0, color="#000000", lw=1.0)
    panel.set(xscale="log", xlabel="error ÷ that of random rows")
    panel.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    panel.set_xticks([], minor=True)
    share_legend(figure, panel)
    return figure


def missing() -> dict[str, str]:
    """Return the missing tables, each with the reason."""
    return missing_among(TABLES)


def in_brief(cell: Cell) -> bool:
    """Select one small table for a quick run."""
    return bool(cell["stream"] == "diabetes")


EXPERIMENT = Experiment(
    "pool",
    "Fifty rows of a pool",
    cells,
    play,
    draw,
    judge,
    seeds=8,
    in_brief=in_brief,
    missing=missing,
    listings=listings,
)
