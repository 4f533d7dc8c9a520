"""Offline fits of linear models to each dataset: the paper's three checks of realizability."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table
from qufur.experiments.cached_streams import missing_among, provenance, stream_of, why_missing
from qufur.figures.style import LOOKS, subplots
from qufur.streams import AmazonReviews, Portraits, RotatedMNIST
from qufur.streams.real.recorded import Recorded

DATASETS: dict[str, Callable[[int], Recorded]] = {
    "Amazon reviews": AmazonReviews.main,
    "Rotated MNIST": RotatedMNIST.main,
    "Portraits": Portraits.main,
}
PUBLISHED = {"Amazon reviews": 0.62, "Rotated MNIST": 1.0, "Portraits": 0.99}
"""Mean squared error for Amazon reviews, training accuracy for the others."""


def cells(seeds: int) -> list[Cell]:
    """Fit every dataset with its labels and with shuffled labels."""
    return [
        {"dataset": name, "data": provenance(make), "shuffled": shuffled}
        for name, make in DATASETS.items()
        if why_missing(make) is None
        for shuffled in (False, True)
    ]


def play(cell: Cell) -> Row:
    """Fit one dataset and return its training error or accuracy."""
    stream = stream_of(DATASETS[cell["dataset"]], 0)
    y = np.random.default_rng(1).permutation(stream.y) if cell["shuffled"] else stream.y
    fit = accuracy if hasattr(stream, "classes") else mean_squared_error
    return {"examples": stream.horizon, "dim": stream.dim, "fit": fit(stream.X, y)}


def mean_squared_error(X: Floats, y: Floats) -> float:
    """Return the training error of least squares with an intercept."""
    design = np.column_stack([X, np.ones(len(X))])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(np.mean(residual**2))


def accuracy(X: Floats, y: Floats) -> float:
    """Return the training accuracy of a weakly regularised logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return float(LogisticRegression(C=1e4, max_iter=2000).fit(X, y).score(X, y))


def judge(table: Table) -> list[Statement]:
    """Compare the fit with the paper's, and with that of shuffled labels."""
    statements = []
    for rows in table.partition_by("dataset", maintain_order=True):
        name = rows["dataset"][0]
        published, error = PUBLISHED[name], name == "Amazon reviews"
        true, shuffled = (rows.filter(shuffled=flag)["fit"].item() for flag in (False, True))
        shape = f"{rows['examples'][0]} × {rows['dim'][0]}"
        title = f"{name} (STAND-IN data)" if "STAND-IN" in rows["data"][0] else name
        measure = "mean squared error of at most" if error else "training accuracy of at least"
        number = "{:.2f}".format if error else "{:.1%}".format
        statements.append(
            Statement(
                "Section 6",
                f"{title}: a linear model has a {measure} {number(published)}",
                f"{number(true)}; with shuffled labels {number(shuffled)}, at {shape}",
                bool(true <= published + 0.005 if error else true >= published - 0.005),
            )
        )
    return statements


def draw(table: Table) -> Figure:
    """Draw the fits beside those of shuffled labels."""
    names = [name for name in PUBLISHED if name in table["dataset"]]
    figure, panels = subplots(1, len(names), width=3.0, height=3.2)
    for panel, name in zip(panels, names, strict=True):
        rows = table.filter(dataset=name).sort("shuffled")
        colours = [LOOKS["QuFUR"]["color"], "0.7"]
        panel.bar(["labels", "shuffled labels"], rows["fit"].to_list(), width=0.6, color=colours)
        panel.axhline(PUBLISHED[name], color="0.3", lw=1, ls="--")
        measure = "mean squared error" if name == "Amazon reviews" else "training accuracy"
        panel.set(title=name, ylabel=measure)
    return figure


EXPERIMENT = Experiment(
    "realizability",
    "Offline fits of linear models; dashed: the paper's",
    cells,
    play,
    draw,
    judge,
    seeds=1,
    missing=lambda: missing_among(DATASETS),
)
