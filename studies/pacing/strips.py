"""Figure of the ratio on every stream, one marker per rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qufur.figures.style import LOOKS, share_legend, subplots
from studies.pacing.scores import REFERENCE, of_streams

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

TICKS = (0.5, 1, 2, 5, 10, 20, 50)


def draw_strips(table: pl.DataFrame, rules: Sequence[str]) -> Figure:
    """Draw design and held-out streams side by side, a row per stream."""
    sets = [name for name in ("design", "held-out") if name in table["set"]]
    figure, panels = subplots(1, len(sets), width=6.4, height=6.0)
    for panel, name in zip(panels, sets, strict=True):
        rows = table.filter(table["set"] == name)
        streams = rows["stream"].unique(maintain_order=True).to_list()[::-1]
        for rule in (rule for rule in rules if rule in rows["rule"] and rule != REFERENCE):
            ratios = of_streams(rows, rule)
            places = [streams.index(stream) for stream in ratios]
            values = [interval.value for interval in ratios.values()]
            panel.plot(values, places, ls="none", ms=6, label=rule, **LOOKS[rule])
        panel.axvline(1.0, color=LOOKS[REFERENCE]["color"], lw=1.0)
        panel.set_yticks(range(len(streams)), streams)
        panel.set(xscale="log", xlabel="regret ÷ that of α tuned in hindsight", title=f"{name} streams")
        panel.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    share_legend(figure, panels[0])
    return figure
