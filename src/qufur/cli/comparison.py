"""All rules on one stream at the same budgets, beside what one would do without any of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.cli import show
from qufur.experiments.statistics import Estimate
from qufur.figures import style
from qufur.figures.curves import draw_curves
from qufur.rules import Greedy, Threshold, Uniform
from qufur.rules.from_budget import labels_of
from qufur.streams import Chunk, Stream
from qufur.sweep.at_budgets import budget_grid
from qufur.sweep.grid import Grid, ModelOf, StreamOf, sweep

if TYPE_CHECKING:
    import polars as pl

MOST_LABELS = 5000
"""So many rows are learned with every label; experts and kernels keep them and take long."""
FURTHER = (0.5, 1.5, 2.25, 3.4)
"""At so many times the lowest budget labels at random are tried too: for how many of them do as well."""
ERROR_RATE = "error rate"
FIRST = "The first row is known to all, and counts for none."
EVERY, BOOSTED, AT_RANDOM, FIRST_ROWS = "every label", "at random, boosting", "Uniform", "Greedy"
_REFERENCES: Grid = {
    "no labels": (lambda _, stream: Threshold(1e300), [0.0]),
    EVERY: (lambda _, stream: Greedy(stream.horizon), [1.0]),
}


@dataclass(frozen=True)
class Task:
    """What is compared on: a stream for every seed, a model, and the measure to show.

    Parameters
    ----------
    title, notes
        What is said above and below the results.
    stream, model
        As in `sweep`.
    measure
        The column to show; `loss` is what the mean of losses is called.
    most_labels
        Streams that are longer are not learned with every label.
    usual
        The model that people would have taken; None leaves it out.
    known
        Examples that everybody has learned; they count for nobody.
    ask
        The command to go on with, without its budget.
    """

    title: str
    stream: StreamOf
    model: ModelOf
    measure: str
    notes: tuple[str, ...] = ()
    most_labels: float = math.inf
    loss: str = "mean squared error"
    usual: ModelOf | None = None
    known: Chunk | None = None
    ask: str = ""


@dataclass(frozen=True)
class Comparison:
    """A row for every run, what was left out with the reason, and what the best constant has."""

    task: Task
    table: pl.DataFrame
    left_out: Mapping[str, str]
    constant: float

    @classmethod
    def of(cls, task: Task, shares: Sequence[float], *, seeds: Iterable[int], jobs: int) -> Comparison:
        """Run all rules at these shares of the labels."""
        import polars as pl

        seeds, stream = list(seeds), task.stream(0)
        found, left_out = budget_grid(stream, task.model, shares)
        grid = dict(found)
        if task.known is not None and AT_RANDOM in grid:
            rule_of, usable = grid[AT_RANDOM]
            grid[AT_RANDOM] = rule_of, sorted({*usable, *further_shares(min(shares))})
        if stream.horizon > task.most_labels:
            reason = f"the model keeps labelled rows, and is slow with more than {MOST_LABELS}."
            left_out[EVERY] = reason
        grid |= {name: rule for name, rule in _REFERENCES.items() if name not in left_out}

        def swept(model: ModelOf, grid: Grid) -> pl.DataFrame:
            return sweep(task.stream, model, grid, seeds=seeds, jobs=jobs, known=task.known)

        table = swept(task.model, grid)
        if task.usual is not None:
            table = pl.concat([table, swept(task.usual, {BOOSTED: (_at_random, list(shares))})])
        table = table.with_columns((table["loss"] / table["horizon"]).alias(task.loss))
        return cls(task, table, left_out, _of_a_constant(task, stream))

    def runs(self, rule: str, share: float) -> Floats:
        """Return labels and losses of the runs of a rule at a share, one row per seed."""
        table = self.table
        rows = table.filter((table["rule"] == rule) & (table["parameter"] == share)).sort("seed")
        return rows.select("queries", self.task.measure).to_numpy().astype(np.float64)

    def write(self, out: Path) -> list[str]:
        """Write all runs and the figure, and return the names of the files."""
        task, table = self.task, self.table
        figure, (panel,) = style.subplots(1, 1, width=6.4, height=4.4)
        rules = table.filter(~table["rule"].is_in(list(_REFERENCES)))
        draw_curves(panel, rules, task.measure, task.measure, task.title)
        panel.legend(frameon=False, fontsize="small")
        drawn = style.save(figure, out, "run")
        table.write_csv(out / "run.csv")
        return [str(path) for path in (out / "run.csv", *drawn)]

    def print(self, budgets: Mapping[float, str], seeds: int) -> None:
        """Write the table for people, a row for every rule."""
        rules = [name for name in self.table["rule"].unique(maintain_order=True) if name not in _REFERENCES]
        text = show.best_marked({rule: [self._estimate(rule, share) for share in budgets] for rule in rules})
        if not math.isnan(self.constant):
            text.append(["the best constant", *[str(Estimate(self.constant, math.nan))] * len(budgets)])
        for name, (_, (share,)) in _REFERENCES.items():
            if name in self.table["rule"]:
                text.append([name, *[str(self._estimate(name, share))] * len(budgets)])
        notes = [f"{self.task.measure.capitalize()}, * the lowest. {show.averaged(seeds)}"]
        notes += [FIRST] if self.task.known else []
        columns = [
            "labels bought",
            *(name if name.isdigit() else f"{100 * share:.3g} %" for share, name in budgets.items()),
        ]
        notes += [*self.task.notes, *self._unspent(rules, list(budgets))]
        show.print_table(self.task.title, columns, text, notes)
        for what, reason in self.left_out.items():
            print(f"Left out: {what}: {reason}")

    def _estimate(self, rule: str, share: float) -> Estimate:
        losses = self.runs(rule, share)[:, 1]
        return Estimate.of(losses) if len(losses) else Estimate(math.nan, math.nan)

    def _unspent(self, rules: Iterable[str], shares: Sequence[float]) -> list[str]:
        """Say of rules that leave budget over how much of it they bought."""
        notes = []
        for rule in rules:
            ran = self.table.filter(self.table["rule"] == rule).select("parameter", "queries", "horizon")
            totals = ran.group_by("parameter").sum().rows_by_key("parameter", unique=True)
            spent = [totals[share][0] / (share * totals[share][1]) for share in shares if share in totals]
            if min(spent) < 0.95:
                notes.append(
                    f"{rule} bought only {', '.join(f'{part:.0%}' for part in spent)} of its budgets."
                )
        return notes


def further_shares(share: float) -> list[float]:
    """Return other shares at which labels at random may do as well as a rule does at this one.

    >>> further_shares(0.4)
    [0.2, 0.6, 0.9, 1.0]
    """
    return [min(1.0, round(factor * share, 9)) for factor in FURTHER]


def _at_random(share: float, stream: Stream) -> Uniform:
    return Uniform.for_budget(labels_of(share, stream.horizon), stream.horizon, None)


def _of_a_constant(task: Task, stream: Stream) -> float:
    """Return the loss of the best constant, which only hindsight knows; NaN without a file."""
    if task.known is None:
        return math.nan
    y = np.concatenate([chunk.y for chunk in stream.chunks(4096)])
    if task.measure == ERROR_RATE:
        return float(1 - np.unique(y, return_counts=True)[1].max() / len(y))
    return float(y.var())
