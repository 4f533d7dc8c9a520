"""Common style of figures: a rule has the same colour, marker and position everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qufur.errors import import_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, safe for colour-blind readers.
LOOKS: dict[str, dict[str, str]] = {
    "QuFUR": {"color": "#0072B2", "marker": "o"},
    "Paced": {"color": "#D55E00", "marker": "P"},
    "Steady": {"color": "#000000", "marker": "h"},
    "Uniform": {"color": "#E69F00", "marker": "s"},
    "Greedy": {"color": "#009E73", "marker": "^"},
    "Threshold": {"color": "#CC79A7", "marker": "D"},
    "FixedBudget": {"color": "#56B4E9", "marker": "v"},
    "DomainOracle": {"color": "#555555", "marker": "x"},
}
SPARE_COLORS = ("#7B3294", "#8C510A", "#B2182B")
SPARE_MARKERS = ("*", "<", ">", "p")


def looks_of(rules: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the style of each rule in drawing order; rules without a fixed style get spare ones.

    >>> list(looks_of(["Mine", "Uniform", "QuFUR"]))
    ['QuFUR', 'Uniform', 'Mine']
    """
    named = dict.fromkeys(rules)
    colors, markers = cycle(SPARE_COLORS), cycle(SPARE_MARKERS)
    fixed = {rule: look for rule, look in LOOKS.items() if rule in named}
    others = (rule for rule in named if rule not in fixed)
    return fixed | {rule: {"color": next(colors), "marker": next(markers)} for rule in others}


def subplots(rows: int, columns: int, width: float = 5.4, height: float = 4.0) -> tuple[Figure, list[Any]]:
    """Return a figure without a window, and its panels row by row."""
    import_extra("matplotlib", "figures", "drawing figures")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25, linewidth=0.6)
        panel.set_axisbelow(True)
    return figure, panels


def plain_ticks(panel: Any) -> None:
    """Format ticks as 200, not 2 × 10²: these axes span little more than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def subplots_for(count: int, width: float = 4.6, height: float = 3.7) -> tuple[Figure, list[Any]]:
    """Return a figure with `count` panels, three per row."""
    figure, panels = subplots(-(-count // 3), min(3, count), width, height)
    for panel in panels[count:]:
        panel.set_axis_off()
    return figure, panels[:count]


def share_legend(figure: Figure, panel: Any, columns: int | None = None) -> None:
    """Draw the legend of one panel below all panels, in one line unless `columns` is given."""
    handles, names = panel.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns or len(names), frameon=False)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write the figure as PNG and SVG and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    # Both files have the same layout, and computing it takes as long as drawing: do it once.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for path in paths:
        figure.savefig(path, dpi=160)
    return paths
