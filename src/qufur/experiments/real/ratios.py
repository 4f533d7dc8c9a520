"""Losses as ratios, with standard errors, and verdicts on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qufur.arrays import Floats
from qufur.experiments.base import Listing, Statement
from qufur.experiments.real.methods import BRIEFLY, NAMES, OURS

if TYPE_CHECKING:
    import polars as pl

Place = tuple[str, float]
"""A table and a share of labels."""
PARTS = {"": "over all rows", "late_": "in the last fifth"}


@dataclass(frozen=True)
class Ratio:
    """A ratio with its standard error; NaN where one seed cannot tell."""

    value: float
    error: float

    @classmethod
    def of(cls, above: Floats, below: Floats) -> Ratio:
        """Return the ratio of two means over seeds, whose runs do not depend on each other.

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
        """Return whether it is above a limit by more than two standard errors; None if nobody can tell.

        >>> [Ratio(1.1, error).exceeds(1.0) for error in (0.04, 0.06, math.nan)]
        [True, False, None]
        """
        return None if math.isnan(self.error) else self.value - 2 * self.error > most

    def __str__(self) -> str:
        return f"{self.value:.2f}" + ("" if math.isnan(self.error) else f" ± {self.error:.2f}")


@dataclass(frozen=True)
class Limits:
    """What is asked of a ratio: of its geometric mean, and of each table at each budget."""

    mean: float
    each: float = math.inf


def ratios(table: pl.DataFrame, rival: str, column: str) -> dict[Place, Ratio]:
    """Return our loss ÷ a rival's for each table and share at which both were run."""
    found = {}
    for place in table.select("stream", "share").unique(maintain_order=True).rows():
        rows = table.filter((table["stream"] == place[0]) & (table["share"] == place[1]))
        above, below = (rows.filter(rows["method"] == name)[column].to_numpy() for name in (OURS, rival))
        if len(above) and len(below):
            found[place] = Ratio.of(above, below)
    return found


def geometric_mean(found: Sequence[Ratio]) -> Ratio:
    """Return the geometric mean of independent ratios.

    >>> print(geometric_mean([Ratio(0.5, 0.05), Ratio(2.0, 0.0)]))
    1.00 ± 0.05
    """
    value = math.exp(sum(math.log(ratio.value) for ratio in found) / len(found))
    return Ratio(value, value * math.hypot(*(ratio.error / ratio.value for ratio in found)) / len(found))


def judge(table: pl.DataFrame, source: str, limits: Mapping[tuple[str, str], Limits]) -> list[Statement]:
    """Say of each limit whether it is kept; `limits` are by rival and column."""
    statements = []
    for (rival, column), asked in limits.items():
        found = ratios(table, rival, column)
        if found:
            part, of = ("late_", column[5:]) if column.startswith("late_") else ("", column)
            what = f"{of.replace('_', ' ')} ÷ that of {NAMES[rival]}, {PARTS[part]},"
            statements.append(_of_mean(found, source, what, asked.mean))
            statements += [_of_each(found, source, what, asked.each)] * math.isfinite(asked.each)
    return statements


def _of_mean(found: Mapping[Place, Ratio], source: str, what: str, most: float) -> Statement:
    mean = geometric_mean(list(found.values()))
    claim = f"{what} is at most {most:.2f} in the geometric mean"
    return Statement(source, claim, str(mean), _kept([mean], most))


def _of_each(found: Mapping[Place, Ratio], source: str, what: str, most: float) -> Statement:
    missed = {place: ratio for place, ratio in found.items() if ratio.exceeds(most)}
    place = max(found, key=lambda key: found[key].value)
    measured = f"at most {found[place]} ({written(place)})"
    if missed:
        measured += "; missed on " + ", ".join(f"{written(key)} {ratio}" for key, ratio in missed.items())
    return Statement(
        source, f"{what} is at most {most:.2f} on every table", measured, _kept(found.values(), most)
    )


def _kept(found: Iterable[Ratio], most: float) -> bool | None:
    exceeded = {ratio.exceeds(most) for ratio in found}
    return False if True in exceeded else None if None in exceeded else True


def written(place: Place) -> str:
    """Return a table and a share for people.

    >>> written(("bike", 0.02))
    'bike 2%'
    """
    return f"{place[0]} {place[1]:.0%}"


def list_ratios(
    table: pl.DataFrame, title: str, columns: Mapping[str, str], rivals: Sequence[str]
) -> Listing:
    """Return a row per table and share, and the geometric mean; `columns` are losses with their headings."""
    asked = [(rival, column) for rival in rivals for column in columns]
    found = [ratios(table, rival, column) for rival, column in asked]
    places = list(dict.fromkeys(place for part in found for place in part))
    rows = [
        [written(place), str(_runs(table, place)), *(str(part.get(place, "–")) for part in found)]
        for place in places
    ]
    means = [str(geometric_mean(list(part.values()))) for part in found]
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
