"""How many labels fewer `Steady` needs than labels at random for the same error, with the same experts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Listing
from qufur.experiments.real.methods import OURS, SAME
from qufur.experiments.real.ratios import Ratio, ratios
from qufur.sweep.equal_error import labels_ratio, reaches

if TYPE_CHECKING:
    import polars as pl

UNCLEAR = "unclear"
"""Within two standard errors of labels at random."""
HEADER = ("table", "labels/rows", "error ÷ at random", "labels saved")


def list_saved(table: pl.DataFrame, column: str) -> Listing:
    """Return a row per table at the smaller of its budgets, those that gain most first.

    Parameters
    ----------
    table
        A row per run; labels at random are read off at both budgets, straight between on logarithmic axes.
    column
        The loss.
    """
    found = ratios(table, SAME, column)
    smaller = {name: min(share for other, share in found if other == name) for name, _ in found}
    places = sorted(smaller.items(), key=lambda place: found[place].value)
    rows = [_row(table, place, found[place], column) for place in places]
    return Listing("Labels saved at equal error, against labels at random and the same experts", HEADER, rows)


def _row(table: pl.DataFrame, place: tuple[str, float], found: Ratio, column: str) -> list[str]:
    rows = table.filter(table["stream"] == place[0])
    runs = _runs(rows, place[1], column)
    labels = f"{rows.filter(rows['share'] == place[1])['budget'][0]}/{rows['horizon'][0]}"
    unclear = abs(1 - found.value) <= 2 * found.error
    return [place[0], labels, str(found), UNCLEAR if unclear else saved(runs)]


def _runs(rows: pl.DataFrame, share: float, column: str) -> Floats:
    """Return labels and losses of ours, and of labels at random at every budget, (seeds, points, 2)."""
    points = [(OURS, share), *((SAME, other) for other in sorted(rows["share"].unique()))]
    each = [
        rows.filter((rows["method"] == way) & (rows["share"] == at)).sort("seed").select("queries", column)
        for way, at in points
    ]
    seeds = min(map(len, each))
    return np.stack([part.to_numpy()[:seeds].astype(np.float64) for part in each], axis=1)


def saved(runs: Floats) -> str:
    """Return the share of labels saved; at least that much where labels at random do not get there.

    >>> saved(np.array([[[10, 0.2], [10, 0.4], [40, 0.1]]]))
    '50 %'
    >>> saved(np.array([[[10, 0.05], [10, 0.4], [40, 0.1]]]))
    'over 75 %'
    >>> saved(np.array([[[10, 0.5], [10, 0.4], [40, 0.1]]]))
    'none'
    """
    share = 1 - math.exp(-labels_ratio(runs))
    if share <= 0:
        return "none"
    return ("" if reaches(runs) else "over ") + f"{100 * share:.0f} %"
