"""Curves of error against labels, with error bars or confidence bands over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qufur.figures.style import LOOKS, looks_of, plain_ticks

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]


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


def draw_bands(panel: Any, curves: Mapping[str, tuple[Floats, Floats]], names: Mapping[str, str]) -> None:
    """Draw means over seeds with bands of their 95 % intervals.

    Parameters
    ----------
    panel
        Matplotlib axes.
    curves
        For each rule, the labels of each budget and the errors of shape (seeds, budgets).
    names
        Legend entry of each rule.
    """
    for rule, (labels, errors) in curves.items():
        mean, margin = errors.mean(axis=0), margins(errors)
        look = LOOKS[rule]
        panel.fill_between(labels, mean - margin, mean + margin, color=look["color"], alpha=0.18, lw=0)
        panel.plot(labels, mean, label=names[rule], lw=1.8, ms=5, **look)
    panel.set(xscale="log", xlabel="labels bought")
    budgets = sorted({round(float(count)) for labels, _ in curves.values() for count in labels})
    panel.set_xticks(budgets, list(map(str, budgets)))
    panel.set_xticks([], minor=True)


def margins(samples: Floats) -> Floats:
    """Return the half width of the 95 % interval of each mean over seeds; 0 for a single seed.

    >>> margins(np.array([[1.0, 5.0], [3.0, 5.0]])).round(1).tolist()
    [12.7, 0.0]
    """
    from scipy.special import stdtrit

    n = len(samples)
    if n == 1:
        return np.zeros(samples.shape[1])
    return np.asarray(stdtrit(n - 1, 0.975) * samples.std(axis=0, ddof=1) / np.sqrt(n))
