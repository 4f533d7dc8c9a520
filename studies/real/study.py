"""Common study of regression and classification tables: two budgets, all methods, several seeds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from qufur.arrays import Floats
from qufur.experiments.base import Cell
from qufur.experiments.cached_streams import StreamOf, missing_among, provenance, stream_of, why_missing
from qufur.rules.from_budget import labels_of
from qufur.streams import Arrays
from qufur.sweep.tasks import Row
from studies.real.methods import RIDGE, Method

SHORT = 3000
"""Rows below which a table is short: its budgets are larger and its runs faster."""
SHARES = {True: (0.1, 0.3), False: (0.02, 0.06)}
"""Budgets of short tables and of other tables."""
QUICK_COLUMNS = 100
"""Largest number of columns of a short table that gets twice as many seeds: its runs are noisy and fast."""
LAST = 0.2
"""Share of the last rows that is evaluated separately."""


@dataclass(frozen=True)
class Study:
    """Tables and the methods that are compared on them.

    Parameters
    ----------
    tables
        Functions that load a table, by name. They ignore their seed: tables are not drawn at random.
    methods
        Methods by name.
    seconds
        Approximate seconds of a run at the larger budget, by table.
    """

    tables: Mapping[str, StreamOf]
    methods: Mapping[str, Method]
    seconds: Mapping[str, float] = field(default_factory=dict)

    def cells(self, seeds: int) -> list[Cell]:
        """Return the cells of the available tables, ordered by seed: a stopped run covers every table."""
        available = [name for name, make in self.tables.items() if why_missing(make) is None]
        return [
            self.origin(name) | {"share": share, "method": method, "seed": seed}
            for seed in range(2 * seeds)
            for name in available
            if seed < seeds or self.is_quick(name)
            for share in SHARES[self.table(name).horizon < SHORT]
            for method in self.methods
        ]

    def play(self, cell: Cell) -> Row:
        """Run one method on one table."""
        table = self.table(cell["stream"])
        budget = labels_of(cell["share"], table.horizon)
        begin = time.perf_counter()
        queries, losses = self.methods[cell["method"]](table, budget, cell["seed"])
        values = {name: value for part, loss in losses.items() for name, value in summary(part, loss).items()}
        seconds = round(time.perf_counter() - begin, 1)
        return {
            "horizon": table.horizon,
            "budget": budget,
            "queries": queries,
            **values,
            "seconds": seconds,
        }

    def origin(self, name: str) -> Cell:
        """Return the columns that name a table and its data source."""
        return {"stream": name, "data": provenance(self.tables[name])}

    def duration(self, cell: Cell) -> float:
        """Return the approximate seconds of a cell; the smaller budget takes half of the larger."""
        whole = 0.0 if cell["method"] == RIDGE else self.seconds.get(cell["stream"], 0.0)
        return whole if cell["share"] in (shares[1] for shares in SHARES.values()) else whole / 2

    def table(self, name: str) -> Arrays:
        """Return a table by name; `stream_of` caches it."""
        table = stream_of(self.tables[name], 0)
        assert isinstance(table, Arrays)
        return table

    def is_quick(self, name: str) -> bool:
        """Return whether a table is short and narrow."""
        table = self.table(name)
        return table.horizon < SHORT and table.dim <= QUICK_COLUMNS

    def missing(self) -> dict[str, str]:
        """Return the missing tables, each with the reason."""
        return missing_among(self.tables)


def summary(name: str, losses: Floats) -> dict[str, float]:
    """Return the mean loss of all rows, and of the last fifth.

    To classification errors it adds half an error: a few rows may have none, and ratios to 0 are undefined.

    >>> from numpy import array, zeros
    >>> summary("loss", array([4.0, 0.0, 0.0, 0.0, 1.0]))
    {'loss': 1.0, 'late_loss': 1.0}
    >>> summary("error", zeros(5))
    {'error': 0.1, 'late_error': 0.5}
    """
    extra = 0.5 if name == "error" else 0.0
    late = losses[len(losses) - round(LAST * len(losses)) :]
    parts = {name: losses, f"late_{name}": late}
    return {key: float((part.sum() + extra) / len(part)) for key, part in parts.items()}
