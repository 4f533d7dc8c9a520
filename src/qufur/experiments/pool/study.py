"""Models fitted to fifty rows of real tables: those of `qufur choose` against as many at random."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import missing_among, provenance, stream_of, why_missing
from qufur.experiments.pool.ways import WAYS, models
from qufur.experiments.real import tables
from qufur.experiments.real.ratios import Ratio, geometric_mean
from qufur.figures.style import looks_of, share_legend, subplots
from qufur.sweep.tasks import Row

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
"""Rows of a pool, and of those that models are judged by."""
RANDOM, OURS, *OTHERS = WAYS
IN_MEAN, ON_EACH = 0.90, 1.10
"""Limits of the ratio to rows at random."""
TICKS = (0.1, 0.2, 0.5, 0.7, 1, 1.4, 2)
SOURCE = "real tables, pools"

Place = tuple[str, str]
"""A table and a model."""


def cells(seeds: int) -> list[Cell]:
    """Return every table that is here, with every way; seeds come first."""
    here = {name: make for name, make in TABLES.items() if why_missing(make) is None}
    return [
        {"stream": name, "data": provenance(make), "way": way, "seed": seed}
        for seed in range(seeds)
        for name, make in here.items()
        for way in WAYS
    ]


def play(cell: Cell) -> Row:
    """Choose rows of one half of a table, and return the errors of models on the other half."""
    table, seed = stream_of(TABLES[cell["stream"]], 0), cell["seed"]
    order = np.random.default_rng(seed).permutation(table.horizon)
    half = min(MOST_ROWS, table.horizon // 2)
    pool, rest = order[:half], order[half : 2 * half]
    rows = pool[WAYS[cell["way"]](table.X[pool], BUDGET, seed)]
    classes = len(np.unique(table.y)) if cell["stream"] in CLASSES else 0
    labels, y = table.y[rows], table.y[rest]
    found = {
        name: error(model.fit(table.X[rows], labels).predict(table.X[rest]), y, labels, classes)
        for name, model in models(table.X.shape[1], classes, seed)
    }
    return {"model": list(found), "error": list(found.values())}


def error(predicted: Floats, y: Floats, labels: Floats, classes: int) -> float:
    """Return the share of wrong classes, or the mean square of numbers clipped to the labels seen.

    >>> error(np.array([5.0, 1.0]), np.array([2.0, 1.0]), np.array([0.0, 3.0]), 0)
    0.5
    """
    if classes:
        return float(np.mean(predicted != y))
    return float(np.mean((np.clip(predicted, labels.min(), labels.max()) - y) ** 2))


def ratios(table: pl.DataFrame, way: str, below: str = RANDOM) -> dict[Place, Ratio]:
    """Return the error of a way ÷ that of another, on the same halves, for each table and model."""
    found = {}
    for place in table.select("stream", "model").unique(maintain_order=True).rows():
        rows = table.filter((table["stream"] == place[0]) & (table["model"] == place[1])).sort("seed")
        found[place] = Ratio.paired(
            *(rows.filter(rows["way"] == name)["error"].to_numpy() for name in (way, below))
        )
    return found


def by_table(found: dict[Place, Ratio]) -> dict[str, Ratio]:
    """Return the geometric mean over models of each table, with the error as if all were one sample."""
    names = dict.fromkeys(name for name, _ in found)
    parts = {name: [ratio for (table, _), ratio in found.items() if table == name] for name in names}
    # Models on the same rows are wrong together: their mean is no surer than one of them.
    return {name: _together(part) for name, part in parts.items()}


def _together(found: list[Ratio]) -> Ratio:
    mean = geometric_mean(found)
    return Ratio(mean.value, mean.error * len(found) ** 0.5)


def judge(table: pl.DataFrame) -> list[Statement]:
    """Compare with rows at random, and with the determinant."""
    found = by_table(ratios(table, OURS))
    worst = max(found, key=lambda name: found[name].value)
    mean = geometric_mean(list(found.values()))
    rival = geometric_mean(list(by_table(ratios(table, OURS, OTHERS[0])).values()))
    what = f"error of models fitted to {BUDGET} chosen rows ÷ that of as many"
    claims = [
        (f"{what} at random is at most {IN_MEAN:.2f} in the geometric mean", [mean], IN_MEAN, ""),
        (
            f"{what} at random is at most {ON_EACH:.2f} on every table",
            found.values(),
            ON_EACH,
            worst,
        ),
        (f"{what} by greedy log-determinant is at most 1 in the geometric mean", [rival], 1.0, ""),
    ]
    return [
        Statement(SOURCE, claim, f"{max(part, key=_value)}" + f" ({where})" * bool(where), _kept(part, most))
        for claim, part, most, where in claims
    ]


def _value(ratio: Ratio) -> float:
    return ratio.value


def _kept(found: Iterable[Ratio], most: float) -> bool | None:
    exceeded = {ratio.exceeds(most) for ratio in found}
    return False if True in exceeded else None if None in exceeded else True


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the ratios to rows at random, for every table and model."""
    found = {way: ratios(table, way) for way in (OURS, *OTHERS)}
    rows = [[*place, *(str(part[place]) for part in found.values())] for place in found[OURS]]
    means = [str(geometric_mean(list(by_table(part).values()))) for part in found.values()]
    header = ["table", "model", *found]
    title = f"Error of models fitted to {BUDGET} rows ÷ that of {BUDGET} at random"
    return [Listing(title, header, [*rows, ["geometric mean", "", *means]])]


def draw(table: pl.DataFrame) -> Figure:
    """Draw all ratios, a row per table and model, with bars of two standard errors."""
    figure, (panel,) = subplots(1, 1, width=6.4, height=5.4)
    ways = (OURS, *OTHERS)
    for order, (way, look) in enumerate(looks_of(ways).items()):
        found = ratios(table, way)
        at = np.arange(len(found))[::-1] + 0.2 * (1 - order)
        values, bars = [r.value for r in found.values()], [2 * r.error for r in found.values()]
        panel.errorbar(values, at, xerr=bars, ls="none", ms=5, lw=0.8, label=way, **look)
        panel.set_yticks(np.arange(len(found))[::-1], [", ".join(place) for place in found])
    panel.axvline(1.0, color="#000000", lw=1.0)
    panel.set(xscale="log", xlabel="error ÷ that of rows at random")
    panel.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    panel.set_xticks([], minor=True)
    share_legend(figure, panel)
    return figure


def missing() -> dict[str, str]:
    """Return which tables are not here, each with the reason."""
    return missing_among(TABLES)


def in_brief(cell: Cell) -> bool:
    """One small table does for a first look."""
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
