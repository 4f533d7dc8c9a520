"""Error against labels, one curve per rule, with error bars over seeds on both axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.figures.style import looks_of, plain_ticks

if TYPE_CHECKING:
    import polars as pl


def draw_curves(panel: Any, table: pl.DataFrame, measure: str, ylabel: str, title: str) -> None:
    """Draw the mean over seeds of every point of a sweep; bars are standard deviations, as in the paper."""
    for rule, look in looks_of(table["rule"].unique(maintain_order=True)).items():
        rows = table.filter((table["rule"] == rule) & (table["queries"] > 0))
        if len(rows):
            points = np.array([_point(part, measure) for _, part in rows.group_by("parameter")])
            x, x_bar, y, y_bar = points[np.argsort(points[:, 0])].T
            panel.errorbar(
                x, y, xerr=x_bar, yerr=y_bar, label=rule, ms=4, lw=1.4, elinewidth=0.8, capsize=1.5, **look
            )
    panel.set(xscale="log", yscale="log", xlabel="labels bought", ylabel=ylabel)
    panel.set_title(title, parse_math=False)  # a file may be called cost_$5.csv
    plain_ticks(panel)


def _point(rows: pl.DataFrame, measure: str) -> tuple[float, ...]:
    columns = (rows["queries"].to_numpy(), rows[measure].to_numpy())
    return tuple(float(value) for column in columns for value in (column.mean(), column.std()))
