"""Figure 2: photographs of the portraits stream; the width of a domain is its duration."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Experiment, Figure, Table
from qufur.experiments.cached_streams import missing_among
from qufur.figures.style import subplots
from qufur.streams import Portraits

ROWS = 4
PER_COLUMN = 16
"""Photographs per column of the figure; every fourth is drawn."""

SIDE = 32


def draw(table: Table) -> Figure:
    """Draw the domains side by side, with their lengths and years."""
    stream = Portraits.main()
    figure, (panel,) = subplots(1, 1, width=14.0, height=1.5)
    start, gap, ticks, names = 0.0, 0.6 * SIDE, [], []
    for u, length in enumerate(stream.durations):
        rows = np.flatnonzero(stream.domain == u)
        faces = tiled(stream.images[rows])
        end = start + faces.shape[1]
        panel.imshow(faces, cmap="gray", vmin=0, vmax=1, extent=(start, end, 0, faces.shape[0]))
        ticks.append((start + end) / 2)
        names.append(f"{length}{_years(stream, rows)}")
        start = end + gap
    panel.set_xlim(0, start - gap)
    panel.set_ylim(0, ROWS * SIDE)
    panel.set_xticks(ticks, names)
    panel.set_yticks([])
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)
    panel.grid(False)
    return figure


def _years(stream: Portraits, rows: np.ndarray) -> str:
    if stream.years is None:
        return ""
    years = stream.years[rows]
    return f"\n{years.min()}–{years.max()}" if years.min() < years.max() else f"\n{years.min()}"


def tiled(images: Floats) -> Floats:
    """Return a picture of every fourth image, from left to right, ROWS in a column."""
    columns = len(images) // PER_COLUMN
    selected = images[:: PER_COLUMN // ROWS][: columns * ROWS].reshape(columns, ROWS, SIDE, SIDE)
    return np.asarray(selected.transpose(1, 2, 0, 3).reshape(ROWS * SIDE, columns * SIDE))


EXPERIMENT = Experiment(
    "fig2",
    "Figure 2: the portraits stream, examples and years of each domain",
    cells=lambda seeds: [],
    play=lambda cell: {},
    draw=draw,
    judge=lambda table: [],
    missing=lambda: missing_among({"Portraits": Portraits.main}),
)
"""The figure measures nothing."""
