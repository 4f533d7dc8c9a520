"""Curves of error against labels, read off at equal budgets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats

if TYPE_CHECKING:
    import polars as pl


def at_equal_labels(table: pl.DataFrame, measure: str, shares: Sequence[float]) -> dict[str, Floats]:
    """Return, for every rule, the measure of each seed at each share of the stream: shape (seeds, shares).

    The points of a rule's sweep are joined by straight lines on a logarithmic axis of queries. A share that a
    seed's sweep does not reach is NaN: nothing is extrapolated.
    """
    curves: dict[str, Floats] = {}
    for (rule,), rows in table.group_by(["rule"], maintain_order=True):
        seeds = [_at(part, measure, shares) for _, part in rows.group_by(["seed"], maintain_order=True)]
        curves[str(rule)] = np.array(seeds)
    return curves


def _at(rows: pl.DataFrame, measure: str, shares: Sequence[float]) -> Floats:
    rows = rows.filter(rows["queries"] > 0).sort("queries")
    wanted = np.log(np.asarray(shares) * rows["horizon"][0])
    queries = np.log(rows["queries"].to_numpy())
    return np.asarray(np.interp(wanted, queries, rows[measure].to_numpy(), left=math.nan, right=math.nan))
