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


Setting = tuple[str, float]
"""Name of a table, and budget as a share of its rows."""
LATE = "late_"
PARTS = {"": "over all rows", LATE: "in the last fifth"}
"""Rows that a loss is averaged over, by the prefix of its column."""


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


def ratios(table: pl.DataFrame, rival: str, column: str) -> dict[Setting, Ratio]:
    """Return our loss ÷ a rival's for each table and share at which both were run."""
    results = {}
    for stream, share in table.select("stream", "share").unique(maintain_order=True).rows():
        rows = table.filter((table["stream"] == stream) & (table["share"] == share))
        above, below = (rows.filter(rows["method"] == name)[column].to_numpy() for name in (OURS, rival))
        if len(above) and len(below):
            results[stream, share] = Ratio.of(above, below)
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
    for (rival, column), limit in limits.items():
        results = ratios(table, rival, column)
        if results:
            part = LATE if column.startswith(LATE) else ""
            loss = column.removeprefix(LATE).replace("_", " ")
            subject = f"{loss} ÷ that of {NAMES[rival]}, {PARTS[part]},"
            statements.append(_of_mean(results, source, subject, limit.mean))
            if math.isfinite(limit.each):
                statements.append(_of_each(results, source, subject, limit.each))
    return statements


def _of_mean(results: Mapping[Setting, Ratio], source: str, subject: str, most: float) -> Statement:
    mean = geometric_mean(list(results.values()))
    claim = f"{subject} is at most {most:.2f} in the geometric mean"
    return Statement(source, claim, str(mean), all_at_most([mean], most))


def _of_each(results: Mapping[Setting, Ratio], source: str, subject: str, most: float) -> Statement:
    missed = {setting: ratio for setting, ratio in results.items() if ratio.exceeds(most)}
    worst = max(results, key=lambda setting: results[setting].value)
    measured = f"at most {results[worst]} ({format_setting(worst)})"
    if missed:
        listed = (f"{format_setting(setting)} {ratio}" for setting, ratio in missed.items())
        measured += "; missed on " + ", ".join(listed)
    return Statement(
        source,
        f"{subject} is at most {most:.2f} on every table",
        measured,
        all_at_most(results.values(), most),
    )


def all_at_most(results: Iterable[Ratio], most: float) -> bool | None:
    """Return whether no ratio exceeds a limit; None if a single seed leaves that open."""
    exceeded = {ratio.exceeds(most) for ratio in results}
    if True in exceeded:
        return False
    return None if None in exceeded else True


def format_setting(setting: Setting) -> str:
    """Format the name of a table and a share.

    >>> format_setting(("bike", 0.02))
    'bike 2%'
    """
    name, share = setting
    return f"{name} {share:.0%}"


def list_ratios(
    table: pl.DataFrame, title: str, columns: Mapping[str, str], rivals: Sequence[str]
) -> Listing:
    """Return a row per table and share, and the geometric mean; `columns` are losses with their headings."""
    pairs = [(rival, column) for rival in rivals for column in columns]
    results = [ratios(table, rival, column) for rival, column in pairs]
    settings = list(dict.fromkeys(setting for part in results for setting in part))
    rows = [
        [
            format_setting(setting),
            str(_runs(table, setting)),
            *(str(part.get(setting, "–")) for part in results),
        ]
        for setting in settings
    ]
    means = [str(geometric_mean(list(part.values()))) for part in results]
    header = ["table", "seeds", *(f"÷ {BRIEFLY[rival]}, {columns[column]}" for rival, column in pairs)]
    return Listing(title, header, [*rows, ["geometric mean", "", *means]] if rows else [])


def _runs(table: pl.DataFrame, setting: Setting) -> int:
    name, share = setting
    rows = table.filter((table["stream"] == name) & (table["share"] == share))
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
    """Return a row per table at the smaller of its budgets, the largest gain first.

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
    settings = sorted(smaller.items(), key=lambda setting: results[setting].value)
    rows = [_row(table, setting, results[setting], column) for setting in settings]
    return Listing("Labels saved at equal error, against random labels with the same experts", HEADER, rows)


def _row(table: pl.DataFrame, setting: Setting, ratio: Ratio, column: str) -> list[str]:
    name, share = setting
    rows = table.filter(table["stream"] == name)
    runs = _runs_at_share(rows, share, column)
    labels = f"{rows.filter(rows['share'] == share)['budget'][0]}/{rows['horizon'][0]}"
    unclear = abs(1 - ratio.value) <= 2 * ratio.error
    return [name, labels, str(ratio), UNCLEAR if unclear else saved(runs)]


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
