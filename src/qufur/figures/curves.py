"""Error against labels, one curve per rule, with error bars over seeds on both axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.figures.style import LOOKS

if TYPE_CHECKING:
    import polars as pl


def draw_curves(panel: Any, table: pl.DataFrame, measure: str, ylabel: str, title: str) -> None:
    """Draw the mean over seeds of every point of a sweep; bars are standard deviations, as in the paper."""
    for rule, look in LOOKS.items():
        rows = table.filter((table["rule"] == rule) & (table["queries"] > 0))
        if len(rows):
            points = np.array([_point(part, measure) for _, part in rows.group_by("parameter")])
            x, x_bar, y, y_bar = points[np.argsort(points[:, 0])].T
            panel.errorbar(
                x, y, xerr=x_bar, yerr=y_bar, label=rule, ms=4, lw=1.4, elinewidth=0.8, capsize=1.5, **look
            )
    panel.set(xscale="log", yscale="log", xlabel="labels bought", ylabel=ylabel, title=title)
    _plain_ticks(panel)


def _point(rows: pl.DataFrame, measure: str) -> tuple[float, ...]:
    columns = (rows["queries"].to_numpy(), rows[measure].to_numpy())
    return tuple(float(value) for column in columns for value in (column.mean(), column.std()))


def _plain_ticks(panel: Any) -> None:
    """Write 200 and not 2 × 10²: these axes span little more than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
