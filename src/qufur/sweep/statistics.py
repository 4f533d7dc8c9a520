"""Statistics of repeated runs: means, intervals, ratios and slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds with its standard error; the error of a single seed is NaN."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Floats) -> Estimate:
        """Return mean and standard error.

        >>> Estimate.of(np.array([1.0, 3.0]))
        Estimate(mean=2.0, error=1.0)
        >>> Estimate.of(np.array([2.0]))
        Estimate(mean=2.0, error=nan)
        """
        error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return cls(float(values.mean()), float(error))

    def __str__(self) -> str:
        """Format mean ± standard error with three significant digits of the mean.

        >>> print(Estimate(12.345, 0.061), Estimate(0.01234, math.nan), Estimate(1234.0, 5.0), sep=", ")
        12.3 ± 0.1, 0.0123, 1234 ± 5
        """
        if math.isnan(self.mean):
            return "–"
        size = math.floor(math.log10(abs(self.mean))) if self.mean else 0
        digits = max(0, 2 - size)
        error = "" if math.isnan(self.error) else f" ± {self.error:.{digits}f}"
        return f"{self.mean:.{digits}f}{error}"


@dataclass(frozen=True)
class Interval:
    """Estimate with its confidence interval.

    >>> str(Interval(0.4987, 0.481, 0.516))
    '0.50 [0.48, 0.52]'
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = max(0, 2 - math.floor(math.log10(abs(self.value) or 1)) - 1) if self.value else 2
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"

    def within(self, low: float, high: float) -> bool | None:
        """Return whether the interval lies between two numbers; None if only a part of it does.

        >>> [Interval(x, x - 1, x + 1).within(0, 5) for x in (2, 8, 0.5)]
        [True, False, None]
        """
        if low <= self.low and self.high <= high:
            return True
        return False if self.high < low or high < self.low else None


def jackknife(statistic: Callable[[Floats], float], samples: Floats, *, confidence: float = 0.95) -> Interval:
    """Return a statistic of independent samples, one per seed along the first axis, with its interval.

    The standard error is the spread of the statistic with each sample left out in turn.

    >>> jackknife(lambda x: float(x.mean()), np.array([1.0, 2.0, 3.0, 4.0]))
    Interval(value=2.5, low=0.44..., high=4.55...)
    """
    from scipy.special import stdtrit

    n, value = len(samples), statistic(samples)
    if n == 1:
        return Interval(value, -math.inf, math.inf)
    without = np.array([statistic(np.delete(samples, i, axis=0)) for i in range(n)])
    error = math.sqrt((n - 1) * without.var())
    margin = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return Interval(value, value - margin, value + margin)


def every(verdicts: Iterable[bool | None]) -> bool | None:
    """Return False if any is False, else None if any is None or there are none, else True.

    >>> every([True, True]), every([True, None]), every([None, False]), every([])
    (True, None, False, None)
    """
    outcomes = set(verdicts)
    return False if False in outcomes else True if outcomes == {True} else None


def ratio(samples: Floats) -> float:
    """Return the mean of the first column divided by that of the second.

    >>> ratio(np.array([[1.0, 2.0], [3.0, 6.0]]))
    0.5
    """
    above, below = samples.mean(axis=0)
    return float(above / below)


def slope(x: Floats, samples: Floats) -> float:
    """Return the slope of the mean over samples against x, both on logarithmic axes.

    >>> round(slope(np.array([1.0, 4.0, 16.0]), np.array([[3.0, 6.0, 12.0], [5.0, 10.0, 20.0]])), 9)
    0.5
    """
    return float(np.polyfit(np.log(x), np.log(samples.mean(axis=0)), 1)[0])


def per_seed(table: pl.DataFrame, by: Sequence[str], column: str) -> Floats:
    """Return a column as an array: a row per seed, then an axis for each of the columns in `by`, sorted."""
    shape = [table[name].n_unique() for name in ("seed", *by)]
    return np.asarray(table.sort(["seed", *by])[column].to_numpy().reshape(shape), dtype=np.float64)
