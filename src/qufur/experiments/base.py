"""What every experiment offers: cells to run, a figure, and statements with a verdict."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qufur.errors import missing_extra
from qufur.tasks import Row, Task, key_of, perform

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Cell = dict[str, Any]


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
class Experiment:
    """An experiment: one file that defines four functions.

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
    """

    name: str
    title: str
    cells: Callable[[int], list[Cell]]
    play: Callable[[Cell], Row]
    draw: Callable[[pl.DataFrame], Figure]
    judge: Callable[[pl.DataFrame], list[Statement]]

    def tasks(self, seeds: int) -> list[Task]:
        """Return a task per cell; a change of the experiment's file makes all of them new."""
        source = Path(inspect.getfile(self.play)).read_text()
        return [Task(key_of(source, cell), _play, (self.play, cell)) for cell in self.cells(seeds)]


def _play(play: Callable[[Cell], Row], cell: Cell) -> Row:
    return {**cell, **play(cell)}


def run_all(
    experiments: Sequence[Experiment],
    *,
    seeds: int,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
) -> dict[str, pl.DataFrame]:
    """Run the cells of all experiments under one progress bar, and return a table for each name."""
    try:
        import polars as pl
    except ImportError:
        raise missing_extra("polars", "sweep", "experiments") from None
    tasks = {experiment.name: experiment.tasks(seeds) for experiment in experiments}
    rows = iter(perform([task for part in tasks.values() for task in part], jobs=jobs, out=out))
    return {
        name: pl.DataFrame([next(rows) for _ in part], infer_schema_length=None)
        for name, part in tasks.items()
    }
