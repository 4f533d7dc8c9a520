"""One study, for numbers and for classes: every table at two budgets, in every way, over several seeds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from qufur.arrays import Floats
from qufur.experiments.base import Cell
from qufur.experiments.cached_streams import StreamOf, missing_among, provenance, stream_of, why_missing
from qufur.experiments.real.methods import RIDGE, Method
from qufur.rules.from_budget import labels_of
from qufur.streams import Arrays
from qufur.sweep.tasks import Row

SHORT = 3000
"""Rows below which budgets are larger, and runs quicker."""
SHARES = {True: (0.1, 0.3), False: (0.02, 0.06)}
"""Budgets of short tables and of others."""
QUICK_COLUMNS = 100
"""Up to which short tables get twice as many seeds: they need them, and cost little."""
LAST = 0.2
"""Share of the rows, at the end, that is looked at on its own."""


@dataclass(frozen=True)
class Study:
    """Tables and the ways to use labels on them.

    Parameters
    ----------
    tables
        By name, functions of a seed that they do not use: there is nothing to draw.
    methods
        By name.
    seconds
        For each table, how long a run takes at the larger of its budgets, about.
    """

    tables: Mapping[str, StreamOf]
    methods: Mapping[str, Method]
    seconds: Mapping[str, float] = field(default_factory=dict)

    def cells(self, seeds: int) -> list[Cell]:
        """Return every table that is here; seeds come first, so that a run that is stopped has all tables."""
        here = [name for name, make in self.tables.items() if why_missing(make) is None]
        return [
            self.origin(name) | {"share": share, "method": method, "seed": seed}
            for seed in range(2 * seeds)
            for name in here
            if seed < seeds or self.is_quick(name)
            for share in SHARES[self.table(name).horizon < SHORT]
            for method in self.methods
        ]

    def play(self, cell: Cell) -> Row:
        """Run one way on one table."""
        table = self.table(cell["stream"])
        budget = labels_of(cell["share"], table.horizon)
        begin = time.perf_counter()
        queries, losses = self.methods[cell["method"]](table, budget, cell["seed"])
        found = {name: value for part, loss in losses.items() for name, value in summary(part, loss).items()}
        seconds = round(time.perf_counter() - begin, 1)
        return {"horizon": table.horizon, "budget": budget, "queries": queries, **found, "seconds": seconds}

    def origin(self, name: str) -> Cell:
        """Return the name of a table and where it comes from."""
        return {"stream": name, "data": provenance(self.tables[name])}

    def duration(self, cell: Cell) -> float:
        """Return how many seconds a cell takes, about: the smaller budget half of the larger."""
        whole = 0.0 if cell["method"] == RIDGE else self.seconds.get(cell["stream"], 0.0)
        return whole if cell["share"] in (shares[1] for shares in SHARES.values()) else whole / 2

    def table(self, name: str) -> Arrays:
        """Return a table."""
        table = stream_of(self.tables[name], 0)
        assert isinstance(table, Arrays)
        return table

    def is_quick(self, name: str) -> bool:
        """Return whether a table is short and narrow."""
        table = self.table(name)
        return table.horizon < SHORT and table.dim <= QUICK_COLUMNS

    def missing(self) -> dict[str, str]:
        """Return which tables are not here, each with the reason."""
        return missing_among(self.tables)


def summary(name: str, losses: Floats) -> dict[str, float]:
    """Return the mean loss of all rows, and of the last fifth.

    Of errors half a one is added: in few rows there may be none, and no ratio to that.

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
