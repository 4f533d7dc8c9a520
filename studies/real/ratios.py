"""Ratios of losses with standard errors, verdicts on them, and the labels that `Steady` saves.

The saving compares `Steady` with random labels at the same error, with the same experts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Listing, Statement
from qufur.experiments.fixed_budget import OURS, SAME
from qufur.sweep.equal_labels import labels_ratio, reaches
from studies.real.methods import BRIEFLY, NAMES

if TYPE_CHECKING:
    import polars as pl


Place = tuple[str, float]
"""A table and a share of labels."""
PARTS = {"": "over all rows", "late_": "in the last fifth"}


@dataclass(frozen=True)
class Ratio:
    """Ratio with its standard error, which is NaN for a single seed."""

    value: float
    error: float

    @classmethod
    def of(cls, above: Floats, below: Floats) -> Ratio:
        """Return the ratio of two means over seeds of independent runs.

        >>> from numpy import array
        >>> print(Ratio.of(array([1.0, 3.0]), array([4.0, 4.0])))
        0.50 ± 0.25
        """
        value = float(above.mean() / below.mean())
        return cls(value, value * math.hypot(_relative_error(above), _relative_error(below)))

    @classmethod
    def paired(cls, above: Floats, below: Floats) -> Ratio:
        """Return the ratio of two means whose runs have the same seeds, in the same order.

        >>> from numpy import array
        >>> print(Ratio.paired(array([1.0, 3.0]), array([2.0, 6.0])))
        0.50 ± 0.00
        """
        value = float(above.mean() / below.mean())
        return cls(value, _error(above - value * below) / float(below.mean()))

    def exceeds(self, most: float) -> bool | None:
        """Return whether it exceeds a limit by more than two standard errors; None for a single seed.

        >>> [Ratio(1.1, error).exceeds(1.0) for error in (0.04, 0.06, math.nan)]
        [True, False, None]
        """
        return None if math.isnan(self.error) else self.value - 2 * self.error > most

    def __str__(self) -> str:
        return f"{self.value:.2f}" + ("" if math.isnan(self.error) else f" ± {self.error:.2f}")


@dataclass(frozen=True)
class Limits:
    """Limits of a ratio: of its geometric mean, and of each table at each budget."""

    mean: float
    each: float = math.inf


def ratios(table: pl.DataFrame, rival: str, column: str) -> dict[Place, Ratio]:
    """Return our loss ÷ a rival's for each table and share at which both were run."""
    results = {}
    for place in table.select("stream", "share").unique(maintain_order=True).rows():
        rows = table.filter((table["stream"] == place[0]) & (table["share"] == place[1]))
        above, below = (rows.filter(rows["method"] == name)[column].to_numpy() for name in (OURS, rival))
        if len(above) and len(below):
            results[place] = Ratio.of(above, below)
    return results


def geometric_mean(results: Sequence[Ratio]) -> Ratio:
    """Return the geometric mean of independent ratios.

    >>> print(geometric_mean([Ratio(0.5, 0.05), Ratio(2.0, 0.0)]))
    1.00 ± 0.05
    """
    value = math.exp(sum(math.log(ratio.value) for ratio in results) / len(results))
    return Ratio(value, value * math.hypot(*(ratio.error / ratio.value for ratio in results)) / len(results))


def judge(table: pl.DataFrame, source: str, limits: Mapping[tuple[str, str], Limits]) -> list[Statement]:
    """Return a statement per limit; `limits` are keyed by rival and column."""
    statements = []
    for (rival, column), asked in limits.items():
        results = ratios(table, rival, column)
        if results:
            part, of = ("late_", column[5:]) if column.startswith("late_") else ("", column)
            what = f"{of.replace('_', ' ')} ÷ that of {NAMES[rival]}, {PARTS[part]},"
            statements.append(_of_mean(results, source, what, asked.mean))
            if math.isfinite(asked.each):
                statements.append(_of_each(results, source, what, asked.each))
    return statements


def _of_mean(results: Mapping[Place, Ratio], source: str, what: str, most: float) -> Statement:
    mean = geometric_mean(list(results.values()))
    claim = f"{what} is at most {most:.2f} in the geometric mean"
    return Statement(source, claim, str(mean), all_at_most([mean], most))


def _of_each(results: Mapping[Place, Ratio], source: str, what: str, most: float) -> Statement:
    missed = {place: ratio for place, ratio in results.items() if ratio.exceeds(most)}
    place = max(results, key=lambda key: results[key].value)
    measured = f"at most {results[place]} ({written(place)})"
    if missed:
        measured += "; missed on " + ", ".join(f"{written(key)} {ratio}" for key, ratio in missed.items())
    return Statement(
        source, f"{what} is at most {most:.2f} on every table", measured, all_at_most(results.values(), most)
    )


def all_at_most(results: Iterable[Ratio], most: float) -> bool | None:
    """Return whether no ratio exceeds a limit; None if a single seed leaves that open."""
    exceeded = {ratio.exceeds(most) for ratio in results}
    return False if True in exceeded else None if None in exceeded else True


def written(place: Place) -> str:
    """Format a table and a share.

    >>> written(("bike", 0.02))
    'bike 2%'
    """
    return f"{place[0]} {place[1]:.0%}"


def list_ratios(
    table: pl.DataFrame, title: str, columns: Mapping[str, str], rivals: Sequence[str]
) -> Listing:
    """Return a row per table and share, and the geometric mean; `columns` are losses with their headings."""
    asked = [(rival, column) for rival in rivals for column in columns]
    results = [ratios(table, rival, column) for rival, column in asked]
    places = list(dict.fromkeys(place for part in results for place in part))
    rows = [
        [written(place), str(_runs(table, place)), *(str(part.get(place, "–")) for part in results)]
        for place in places
    ]
    means = [str(geometric_mean(list(part.values()))) for part in results]
    header = ["table", "seeds", *(f"÷ {BRIEFLY[rival]}, {columns[column]}" for rival, column in asked)]
    return Listing(title, header, [*rows, ["geometric mean", "", *means]] if rows else [])


def _runs(table: pl.DataFrame, place: Place) -> int:
    rows = table.filter((table["stream"] == place[0]) & (table["share"] == place[1]))
    return len(rows.filter(rows["method"] == OURS))


def _error(values: Floats) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _relative_error(values: Floats) -> float:
    return _error(values) / float(values.mean())


UNCLEAR = "unclear"
"""Text for ratios within two standard errors of random labels."""
HEADER = ("table", "labels/rows", "error ÷ at random", "labels saved")


def list_saved(table: pl.DataFrame, column: str) -> Listing:
    """Return a row per table at the smaller of its budgets, sorted by gain.

    Parameters
    ----------
    table
        A row per run. The labels that random labels need are interpolated linearly between both budgets on
        logarithmic axes.
    column
        Column of the loss.
    """
    results = ratios(table, SAME, column)
    smaller = {name: min(share for other, share in results if other == name) for name, _ in results}
    places = sorted(smaller.items(), key=lambda place: results[place].value)
    rows = [_row(table, place, results[place], column) for place in places]
    return Listing("Labels saved at equal error, against labels at random and the same experts", HEADER, rows)


def _row(table: pl.DataFrame, place: tuple[str, float], results: Ratio, column: str) -> list[str]:
    rows = table.filter(table["stream"] == place[0])
    runs = _runs_at_share(rows, place[1], column)
    labels = f"{rows.filter(rows['share'] == place[1])['budget'][0]}/{rows['horizon'][0]}"
    unclear = abs(1 - results.value) <= 2 * results.error
    return [place[0], labels, str(results), UNCLEAR if unclear else saved(runs)]


def _runs_at_share(rows: pl.DataFrame, share: float, column: str) -> Floats:
    """Return labels and losses of `Steady`, and of random labels at every budget, (seeds, points, 2)."""
    points = [(OURS, share), *((SAME, other) for other in sorted(rows["share"].unique()))]
    each = [
        rows.filter((rows["method"] == way) & (rows["share"] == at)).sort("seed").select("queries", column)
        for way, at in points
    ]
    seeds = min(map(len, each))
    return np.stack([part.to_numpy()[:seeds].astype(np.float64) for part in each], axis=1)


def saved(runs: Floats) -> str:
    """Return the share of labels saved, as a lower bound if random labels do not reach the loss.

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
