"""Comparison of rules at equal numbers of labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Listing, Statement
from qufur.sweep.equal_labels import at_equal_labels
from qufur.sweep.statistics import Estimate, Interval, every, jackknife, ratio

if TYPE_CHECKING:
    import polars as pl

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
RIVALS = ("Uniform", "Greedy")


def compare(
    table: pl.DataFrame,
    source: str,
    title: str,
    measures: Mapping[str, str],
    exceptions: Sequence[str] = (),
) -> list[Statement]:
    """Return a statement per measure and rival: QuFUR's value is lower at every equal number of labels.

    For rivals in `exceptions` the statement is that it is higher.
    """
    table = table.filter(table["rule"].is_in(["QuFUR", *RIVALS]))
    return [
        _statement(
            ratios(at_equal_labels(table, measure, SHARES), rival),
            source,
            f"{title}: {name}",
            rival,
            rival in exceptions,
        )
        for measure, name in measures.items()
        for rival in RIVALS
    ]


def list_means(table: pl.DataFrame, measure: str, title: str) -> Listing:
    """Return the mean over seeds of every rule at each share, with its standard error."""
    curves = at_equal_labels(table.filter(table["queries"] > 0), measure, SHARES)
    rows = [[rule, *(str(Estimate.of(column)) for column in values.T)] for rule, values in curves.items()]
    return Listing(title, ["labels bought", *(f"{share:.0%}" for share in SHARES)], rows)


def ratios(curves: Mapping[str, Floats], rival: str) -> dict[float, Interval]:
    """Return QuFUR's measure over a rival's, paired over seeds, at each share that both always reach."""
    pairs = np.stack([curves["QuFUR"], curves[rival]], axis=-1)
    return {
        share: jackknife(ratio, pairs[:, i])
        for i, share in enumerate(SHARES)
        if np.isfinite(pairs[:, i]).all()
    }


def _statement(
    ratios_by_share: Mapping[float, Interval], source: str, subject: str, rival: str, is_exception: bool
) -> Statement:
    listed = [
        f"{r.value:.2f} ± {r.high - r.value:.2f} at {share:.0%}" for share, r in ratios_by_share.items()
    ]
    order, low, high = ("higher", 1.0, math.inf) if is_exception else ("lower", 0.0, 1.0)
    return Statement(
        source,
        f"{subject} is {order} than with {rival.lower()} queries at every equal number of labels",
        "ratio " + ", ".join(listed),
        every(r.within(low, high) for r in ratios_by_share.values()),
    )
