"""Comparisons of error curves at equal labels, and of labels at equal error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.sweep.statistics import Interval, jackknife, ratio

if TYPE_CHECKING:
    import polars as pl


def at_equal_labels(table: pl.DataFrame, measure: str, shares: Sequence[float]) -> dict[str, Floats]:
    """Return the measure of every rule at each share of the stream, as an array (seeds, shares).

    The points of a sweep are interpolated linearly in the logarithm of the queries. A share that a
    seed's sweep does not reach is NaN: nothing is extrapolated.
    """
    curves: dict[str, Floats] = {}
    for (rule,), rows in table.group_by(["rule"], maintain_order=True):
        seeds = [_at(part, measure, shares) for _, part in rows.group_by(["seed"], maintain_order=True)]
        curves[str(rule)] = np.array(seeds)
    return curves


def ratios_at_equal_labels(
    table: pl.DataFrame, measure: str, rule: str, rival: str, shares: Sequence[float]
) -> dict[float, Interval]:
    """Return a rule's measure over a rival's, paired over seeds, at each share that both always reach."""
    curves = at_equal_labels(table.filter(table["rule"].is_in([rule, rival])), measure, shares)
    pairs = zip(shares, np.transpose([curves[rule], curves[rival]], (2, 1, 0)), strict=True)
    return {share: jackknife(ratio, samples) for share, samples in pairs if np.isfinite(samples).all()}


def _at(rows: pl.DataFrame, measure: str, shares: Sequence[float]) -> Floats:
    rows = rows.filter(rows["queries"] > 0).sort("queries")
    log_labels = np.log(np.asarray(shares) * rows["horizon"][0])
    queries = np.log(rows["queries"].to_numpy())
    return np.asarray(np.interp(log_labels, queries, rows[measure].to_numpy(), left=math.nan, right=math.nan))


LEAST = 0.5, float(np.finfo(float).tiny)
"""Replacements of zero labels and zero error, which have no logarithm."""


def labels_ratio(runs: Floats) -> float:
    """Return log(n′/n): the first rule has with n labels the error that the second has with n′.

    Parameters
    ----------
    runs
        Labels and errors, of shape (seeds, points, 2). The first point belongs to the first rule; the others
        belong to the second rule at several budgets. Their means over seeds are its curve, interpolated
        linearly on logarithmic axes. More labels are assumed to do no harm, so the curve is replaced by its
        running minimum. Beyond its ends the number of labels is that of the end.

    Examples
    --------
    >>> runs = np.array([[[10, 0.2], [5, 0.8], [10, 0.4], [40, 0.1]]])
    >>> round(float(np.exp(labels_ratio(runs))), 6)
    2.0
    """
    points = np.log(np.maximum(runs.mean(axis=0), LEAST))
    labels, error = points[0]
    n, errors = points[1:][points[1:, 0].argsort()].T
    return float(np.interp(-error, -np.minimum.accumulate(errors), n) - labels)


def reaches(runs: Floats) -> bool:
    """Return whether the curve of the second rule reaches the error of the first.

    If it does not, `labels_ratio` is a bound only. `runs` is as in `labels_ratio`.
    """
    error, *others = runs.mean(axis=0)[:, 1]
    cheapest = runs.mean(axis=0)[1:, 0].argmin()
    return bool(min(others) <= error <= others[cheapest])
