"""Figure of ratios on every table at every budget, one marker per rival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qufur.figures.style import looks_of, share_legend, subplots
from studies.real.methods import NAMES
from studies.real.ratios import format_setting, ratios

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

PANELS = {"all": "all rows", "late": "last fifth"}
TICKS = (0.125, 0.25, 0.5, 0.7, 1, 1.4, 2)
APART = 0.22
"""Distance in rows between markers of one table: ratios near 1 would overlap."""


def draw_ratios(table: pl.DataFrame, columns: Mapping[str, str], rivals: Sequence[str]) -> Figure:
    """Draw a panel per loss, a row per table and share, bars of two standard errors."""
    figure, panels = subplots(1, len(columns), width=5.4, height=6.4)
    for panel, (column, title) in zip(panels, columns.items(), strict=True):
        panel.sharex(panels[0])
        results = {rival: ratios(table, rival, column) for rival in rivals}
        settings = list(dict.fromkeys(setting for part in results.values() for setting in part))[::-1]
        for order, (rival, look) in enumerate(looks_of(rivals).items()):
            apart = APART * ((len(rivals) - 1) / 2 - order)
            at = [settings.index(setting) + apart for setting in results[rival]]
            values = [ratio.value for ratio in results[rival].values()]
            bars = [2 * ratio.error for ratio in results[rival].values()]
            name = f"÷ {NAMES[rival].replace('`', '')}"
            panel.errorbar(values, at, xerr=bars, ls="none", ms=5, lw=0.8, label=name, **look)
        panel.axvline(1.0, color="#000000", lw=1.0)
        panel.set_yticks(range(len(settings)), [format_setting(setting) for setting in settings])
        panel.set(xscale="log", xlabel="loss ÷ that of the rival", title=PANELS[title])
        panel.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        panel.set_xticks([], minor=True)
        panel.grid(visible=False, axis="y")
        for row in range(1, len(settings), 2):
            panel.axhspan(row - 0.5, row + 0.5, color="#000000", alpha=0.04, lw=0)
        panel.set_ylim(-0.6, len(settings) - 0.4)
    share_legend(figure, panels[0])
    return figure
