"""What every experiment offers: cells to run, a figure, and statements with a verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qufur.errors import missing_extra
from qufur.sweep.parallel import PROCESSES
from qufur.sweep.tasks import Row, Task, key_of, perform

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Cell = dict[str, Any]
QUICK_SEEDS = 2


@dataclass(frozen=True)
class Statement:
    """A claim of the paper, and what was measured.

    Parameters
    ----------
    source
        Where the paper says it.
    claim
        What would have to be true of the numbers, tolerance included.
    measured
        The numbers.
    holds
        Whether they are so. Computed, never written. None where the runs were too few to tell.
    """

    source: str
    claim: str
    measured: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """`holds` in words."""
        return {True: "holds", False: "does NOT hold", None: "undecided"}[self.holds]


@dataclass(frozen=True)
class Listing:
    """A table for people: title, names of the columns, and rows of text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def no_listings(table: pl.DataFrame) -> list[Listing]:
    """Return none: the statements say it all."""
    return []


@dataclass(frozen=True)
class Experiment:
    """An experiment: one file that defines its functions.

    Parameters
    ----------
    name
        Of its files.
    title
        One line for people.
    cells
        From a number of seeds to the settings of all runs, each a dict of numbers and names.
    play
        Runs one cell and returns what it measured; a function of a module, so that processes can share it.
    draw, judge
        From the table, whose columns are cells and measurements, to a figure and to statements.
    seeds
        How many, unless told otherwise.
    in_brief
        Which cells a quick look at the experiment needs.
    missing
        Which parts cannot be run here, each with the reason; `cells` leaves them out.
    listings
        From the table to further tables for people.
    seconds
        How long a cell takes on one core, about; 0 where that is no matter.
    """

    name: str
    title: str
    cells: Callable[[int], list[Cell]]
    play: Callable[[Cell], Row]
    draw: Callable[[pl.DataFrame], Figure]
    judge: Callable[[pl.DataFrame], list[Statement]]
    seeds: int = 20
    in_brief: Callable[[Cell], bool] = lambda cell: True
    missing: Callable[[], dict[str, str]] = dict
    listings: Callable[[pl.DataFrame], list[Listing]] = no_listings
    seconds: Callable[[Cell], float] = lambda cell: 0.0

    def tasks(self, seeds: int | None = None, *, quick: bool = False) -> list[Task]:
        """Return a task per cell; rows that other code made are never taken for its own."""
        return [
            Task(key_of(self.name, self.play, cell), _play, (self.play, cell))
            for cell in self._chosen(seeds, quick)
        ]

    def duration(self, seeds: int | None = None, *, quick: bool = False) -> float:
        """Return how many seconds all cells take on one core, about."""
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
) -> dict[str, pl.DataFrame]:
    """Run the cells of all experiments under one progress bar, and return a table for each name.

    A measurement that is a list becomes one row per element.
    """
    try:
        import polars as pl
    except ImportError:
        raise missing_extra("polars", "sweep", "experiments") from None
    tasks = {experiment.name: experiment.tasks(seeds, quick=quick) for experiment in experiments}
    every = [task for part in tasks.values() for task in part]
    rows = iter(perform(every, jobs=jobs, out=out, backend=backend))
    tables = {}
    for name, part in tasks.items():
        table = pl.DataFrame([next(rows) for _ in part], infer_schema_length=None)
        lists = [column for column in table.columns if isinstance(table[column].dtype, pl.List)]
        tables[name] = table.explode(lists) if lists else table
    return tables
