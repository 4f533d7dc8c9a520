"""Base types of experiments: cells to run, a figure, and statements with a verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from qufur.arrays import Floats
from qufur.errors import missing_extra
from qufur.sweep.parallel import PROCESSES
from qufur.sweep.tasks import Task, key_of, perform

if TYPE_CHECKING:
    import matplotlib.figure
    import polars as pl

Cell = dict[str, Any]
"""Settings of a run."""
Row = dict[str, Any]
"""Measurements of a run."""
Table: TypeAlias = "pl.DataFrame"
Figure: TypeAlias = "matplotlib.figure.Figure"
QUICK_SEEDS = 2


def cells_of(**values: Iterable[Any]) -> list[Cell]:
    """Return a cell for every combination of values; the last name varies fastest.

    >>> cells_of(seed=range(2), rule=["QuFUR"])
    [{'seed': 0, 'rule': 'QuFUR'}, {'seed': 1, 'rule': 'QuFUR'}]
    """
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


@dataclass(frozen=True)
class Statement:
    """Claim of the paper with its measurement.

    Parameters
    ----------
    source
        Section or theorem of the paper.
    claim
        Condition on the numbers, including the tolerance.
    measured
        The numbers.
    holds
        Whether the numbers satisfy the claim, always computed. None if there are too few runs to decide.
    """

    source: str
    claim: str
    measured: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """`holds` in words."""
        return {True: "holds", False: "does NOT hold", None: "undecided"}[self.holds]


def judge_shares(source: str, claim: str, shares: Floats, *, limit: float = 1.0) -> Statement:
    """Return the statement that queries (first row) and regret, as shares of bounds, are at most `limit`."""
    queries, regret = shares.reshape(2, -1).max(axis=1)
    unit = "of them" if limit == 1 else "times"
    measured = f"at most {queries:.2f} and {regret:.2f} {unit}"
    return Statement(source, claim, measured, bool(max(queries, regret) <= limit))


@dataclass(frozen=True)
class Listing:
    """Table of text for readers: title, column names and rows."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Experiment:
    """Experiment, defined by the functions of one module.

    Parameters
    ----------
    name
        Name of its files.
    title
        Title in one line.
    cells
        Maps a number of seeds to the settings of all runs, each a dict of numbers and names.
    play
        Runs one cell and returns its measurements; a module-level function, so that it can be pickled.
    draw, judge
        Map the table, whose columns are cells and measurements, to a figure and to statements.
    seeds
        Default number of seeds.
    in_brief
        Selects the cells of a quick run.
    missing
        Returns the parts without data, each with the reason; `cells` omits them.
    listings
        Maps the table to further tables for readers; none by default.
    seconds
        Approximate seconds per cell on one core; 0 if negligible.
    """

    name: str
    title: str
    cells: Callable[[int], list[Cell]]
    play: Callable[[Cell], Row]
    draw: Callable[[Table], Figure]
    judge: Callable[[Table], list[Statement]]
    seeds: int = 20
    in_brief: Callable[[Cell], bool] = lambda cell: True
    missing: Callable[[], dict[str, str]] = dict
    listings: Callable[[Table], list[Listing]] = lambda table: []
    seconds: Callable[[Cell], float] = lambda cell: 0.0

    def tasks(self, seeds: int | None = None, *, quick: bool = False) -> list[Task]:
        """Return one task per cell. Its key depends on the code, so rows of changed code are not reused."""
        return [
            Task(key_of(self.name, self.play, cell), _play, (self.play, cell))
            for cell in self._chosen(seeds, quick)
        ]

    def duration(self, seeds: int | None = None, *, quick: bool = False) -> float:
        """Return the approximate seconds of all cells on one core."""
        return sum(self.seconds(cell) for cell in self._chosen(seeds, quick))

    def _chosen(self, seeds: int | None, quick: bool) -> list[Cell]:
        cells = self.cells(seeds or (QUICK_SEEDS if quick else self.seeds))
        return [cell for cell in cells if not quick or self.in_brief(cell)]


def _play(play: Callable[[Cell], Row], cell: Cell) -> Row:
    return {**cell, **play(cell)}


def run_all(
    experiments: Sequence[Experiment],
    *,
    seeds: int | None = None,
    quick: bool = False,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    backend: str = PROCESSES,
) -> dict[str, Table]:
    """Run the cells of all experiments under one progress bar, and return a table for each name.

    A measurement that is a list becomes one row per element. Rows finished earlier are read from `out`, if
    given, and new ones are appended to it.
    """
    try:
        import polars as pl
    except ImportError:
        raise missing_extra("polars", "sweep", "experiments") from None
    tasks = {experiment.name: experiment.tasks(seeds, quick=quick) for experiment in experiments}
    all_tasks = [task for experiment_tasks in tasks.values() for task in experiment_tasks]
    rows = iter(perform(all_tasks, jobs=jobs, out=out, backend=backend))
    tables = {}
    for name, experiment_tasks in tasks.items():
        table = pl.DataFrame([next(rows) for _ in experiment_tasks], infer_schema_length=None)
        lists = [column for column in table.columns if isinstance(table[column].dtype, pl.List)]
        tables[name] = table.explode(lists) if lists else table
    return tables
