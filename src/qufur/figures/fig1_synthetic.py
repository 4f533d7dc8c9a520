"""Figure 1, first panel: regret against queries on synthetic hidden domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from qufur.figures.curves import draw_curves
from qufur.figures.style import subplots
from qufur.models import Ridge
from qufur.rules import Greedy, QuFUR, Uniform
from qufur.streams import HiddenDomains, Stream
from qufur.sweep import Grid

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

SETTINGS = {"scripts": HiddenDomains.scripts, "text": HiddenDomains.text}
"""The authors' scripts and the paper's text disagree about durations, dimensions and noise: both are run."""

TITLES = {
    "scripts": "As the authors' scripts have it",
    "text": "As the paper's text has it",
}

MEASURES = {"regret": "regret R", "loss": "squared loss on noisy labels"}

SHARES = (0.1, 0.2, 0.3, 0.5)
"""Where the curves are compared, as shares of the stream."""

GRID: Grid = {
    # The paper's α, 2⁻⁴ to 2⁵, and smaller ones, so that all curves reach small budgets.
    "QuFUR": (lambda alpha, stream: QuFUR(alpha), [2.0**k for k in range(-8, 6)]),
    "Uniform": (lambda rate, stream: Uniform(rate), [round(0.05 * k, 2) for k in range(1, 21)]),
    "Greedy": (
        lambda share, stream: Greedy(max(1, round(share * stream.horizon))),
        [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0],
    ),
}


def model(stream: Stream) -> Ridge:
    """Return the published learner: M₀ = I. Inputs have norm 1, so capping Δ would change nothing."""
    return Ridge(stream.dim, regularization=1.0)


def draw(tables: Mapping[str, pl.DataFrame]) -> Figure:
    """Draw a row of panels for each setting: regret, then loss."""
    figure, panels = subplots(len(tables), len(MEASURES))
    places = [(setting, measure) for setting in tables for measure in MEASURES]
    for panel, (setting, measure) in zip(panels, places, strict=True):
        draw_curves(panel, tables[setting], measure, MEASURES[measure], TITLES[setting])
    return figure
