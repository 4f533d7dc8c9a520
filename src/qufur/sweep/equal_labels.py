"""Curves of error against labels, read off at equal budgets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its standard error; NaN for what one seed cannot tell."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Floats) -> Estimate:
        """Return mean and standard error.

        >>> Estimate.of(np.array([1.0, 3.0]))
        Estimate(mean=2.0, error=1.0)
        """
        error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return cls(float(values.mean()), float(error))

    @classmethod
    def ratio(cls, above: Floats, below: Floats) -> Estimate:
        """Return the ratio of two means over the same seeds, with its standard error by the delta method.

        >>> Estimate.ratio(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
        Estimate(mean=0.5, error=0.0)
        """
        ratio = float(above.mean() / below.mean())
        return cls(ratio, cls.of(above - ratio * below).error / float(below.mean()))

    def __str__(self) -> str:
        """Write mean ± standard error with three significant digits of the mean.

        >>> print(Estimate(12.345, 0.061), Estimate(0.01234, math.nan), Estimate(1234.0, 5.0), sep=", ")
        12.3 ± 0.1, 0.0123, 1234 ± 5
        """
        if math.isnan(self.mean):
            return "–"
        size = math.floor(math.log10(abs(self.mean))) if self.mean else 0
        digits = max(0, 2 - size)
        error = "" if math.isnan(self.error) else f" ± {self.error:.{digits}f}"
        return f"{self.mean:.{digits}f}{error}"


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
