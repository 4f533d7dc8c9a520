"""Panels of Figures 1 and 4: loss against labels of every rule, on the same streams and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from qufur.experiments.base import Cell, Experiment, Figure, Listing, Row, Statement, Table
from qufur.experiments.cached_streams import missing_among, named, provenance, stream_of, why_missing
from qufur.figures.curves import draw_curves
from qufur.figures.style import share_legend, subplots_for
from qufur.models import Model
from qufur.rules import FixedBudget, Greedy, QuFUR, Rule, Threshold, Uniform
from qufur.streams import Stream
from qufur.sweep.equal_labels import at_equal_labels, ratios_at_equal_labels
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import Estimate, Interval, every

# The paper's rates from 0.05 on, and a smaller one, so that all curves reach 5 % of the stream.
RATES = (0.025, *(round(0.05 * k, 2) for k in range(1, 21)))
BUDGETS = (0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Budgets of Greedy, as shares of the stream."""
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of labels at which rules are compared."""
RIVALS = ("Uniform", "Greedy")
NO_LABELS = "No labels"


@dataclass(frozen=True)
class Panel:
    """Panel of one dataset in one order of domains.

    Parameters
    ----------
    title
        Title of the panel.
    stream, model
        Map a seed to a stream, and a stream and seed to a model. Module-level functions, so that processes
        can cache their results.
    alphas
        α of QuFUR: the paper's values, and smaller ones, so that all curves reach small budgets.
    measures
        Columns to compare, with their names; the first is drawn.
    repeats
        Streams per requested seed.
    exceptions
        Rivals that are better on this panel according to the paper.
    """

    title: str
    stream: Callable[[int], Stream]
    model: Callable[[Any, int], Model]
    alphas: Sequence[float]
    measures: Mapping[str, str] = field(default_factory=lambda: {"loss": "squared loss"})
    repeats: int = 1
    exceptions: Sequence[str] = ()

    @property
    def grid(self) -> dict[str, Sequence[float]]:
        """Parameters of every rule."""
        return {
            "QuFUR": self.alphas,
            "Uniform": RATES,
            "Greedy": BUDGETS,
            "Threshold": np.geomspace(min(self.alphas), max(self.alphas), 2 * len(self.alphas) - 1).tolist(),
            "FixedBudget": (0.1, 0.2, 0.4, 0.7, 1.0),
            NO_LABELS: (0.0,),
        }

    @property
    def name(self) -> str:
        """Title, marked if the data only stand in for the paper's."""
        return named(self.title, self.stream)


def make_rule(name: str, parameter: float, horizon: int) -> Rule:
    """Return a rule of a grid; budgets are shares of the stream."""
    budget = max(1, round(parameter * horizon))
    rules: dict[str, Callable[[], Rule]] = {
        "QuFUR": lambda: QuFUR(parameter),
        "Uniform": lambda: Uniform(parameter),
        "Greedy": lambda: Greedy(budget),
        "Threshold": lambda: Threshold(1 / parameter),
        "FixedBudget": lambda: FixedBudget(budget, horizon),
        NO_LABELS: lambda: Threshold(float(np.finfo(float).max)),
    }
    return rules[name]()


def figure_of(name: str, title: str, source: str, panels: Mapping[str, Panel]) -> Experiment:
    """Return the experiment of a figure: its panels and the paper's claims about them."""

    def cells(seeds: int) -> list[Cell]:
        return [
            {"panel": key, "data": provenance(panel.stream), "seed": seed, "rule": rule, "parameter": value}
            for key, panel in panels.items()
            if why_missing(panel.stream) is None
            for seed in range(panel.repeats * seeds)
            for rule, values in panel.grid.items()
            for value in values
        ]

    def in_brief(cell: Cell) -> bool:
        rule, parameter = cell["rule"], cell["parameter"]
        if rule in ("Uniform", "Greedy") and parameter > 0.6:
            return False  # rules are compared at up to half of the labels; these runs are the longest
        parameters = panels[cell["panel"]].grid[rule]
        return parameters.index(parameter) % (4 if rule == "Threshold" else 2) == 0

    def judge(table: Table) -> list[Statement]:
        return [
            statement
            for panel, rows in available(panels, table)
            for statement in compare(rows, source, panel.name, panel.measures, panel.exceptions)
        ]

    def listings(table: Table) -> list[Listing]:
        return [
            list_means(rows, measure, f"{panel.name}: {what}")
            for panel, rows in available(panels, table)
            for measure, what in panel.measures.items()
        ]

    return Experiment(
        name,
        title,
        cells,
        partial(play_panel, panels),
        partial(draw_panels, panels),
        judge,
        seeds=5,
        in_brief=in_brief,
        missing=partial(missing_panels, panels),
        listings=listings,
    )


def available(panels: Mapping[str, Panel], table: Table) -> list[tuple[Panel, Table]]:
    """Return the panels with data, each with its rows."""
    return [(panel, table.filter(panel=key)) for key, panel in panels.items() if key in table["panel"]]


def compare(
    table: Table, source: str, title: str, measures: Mapping[str, str], exceptions: Sequence[str] = ()
) -> list[Statement]:
    """Return a statement per measure and rival: QuFUR's value is lower at every equal number of labels.

    For rivals in `exceptions` the statement is that it is higher.
    """
    statements = []
    for (measure, name), rival in product(measures.items(), RIVALS):
        ratios = ratios_at_equal_labels(table, measure, "QuFUR", rival, SHARES)
        order, low, high = ("higher", 1.0, np.inf) if rival in exceptions else ("lower", 0.0, 1.0)
        comparison = f"{order} than with {rival.lower()} queries at every equal number of labels"
        holds = every(interval.within(low, high) for interval in ratios.values())
        statements.append(Statement(source, f"{title}: {name} is {comparison}", list_ratios(ratios), holds))
    return statements


def list_ratios(ratios: Mapping[float, Interval]) -> str:
    """Format the ratio at each share of labels, with the half width of its interval."""
    listed = [f"{r.value:.2f} ± {r.high - r.value:.2f} at {share:.0%}" for share, r in ratios.items()]
    return f"ratio {', '.join(listed)}"


def list_means(table: Table, measure: str, title: str) -> Listing:
    """Return the mean over seeds of every rule at each share, with its standard error."""
    curves = at_equal_labels(table.filter(table["queries"] > 0), measure, SHARES)
    rows = [[rule, *(str(Estimate.of(column)) for column in values.T)] for rule, values in curves.items()]
    return Listing(title, ["labels bought", *(f"{share:.0%}" for share in SHARES)], rows)


def missing_panels(panels: Mapping[str, Panel]) -> dict[str, str]:
    """Return the panels without data, each with the reason."""
    return missing_among({panel.title: panel.stream for panel in panels.values()})


def play_panel(panels: Mapping[str, Panel], cell: Cell) -> Row:
    """Run one rule on one stream."""
    panel, seed = panels[cell["panel"]], cell["seed"]
    stream = stream_of(panel.stream, seed)
    rule = make_rule(cell["rule"], cell["parameter"], stream.horizon)
    totals = play_rule(panel.model(stream, seed), rule, stream, seed).totals
    return {
        "horizon": totals.examples,
        "queries": totals.queries,
        "loss": totals.loss,
        "error": totals.loss / totals.examples,
        "regret": totals.regret,
    }


def draw_panels(panels: Mapping[str, Panel], table: Table) -> Figure:
    """Draw the panels with data, three per row, with one common legend."""
    parts = available(panels, table)
    figure, axes = subplots_for(len(parts))
    for axis, (panel, rows) in zip(axes, parts, strict=True):
        measure, name = next(iter(panel.measures.items()))
        draw_curves(axis, rows, measure, name, panel.name)
        unlabelled = rows.filter(rule=NO_LABELS)[measure].mean()
        axis.axhline(unlabelled, color="0.4", lw=1, ls=":", label="No labels")
        # Some runs buy hardly any labels; show budgets above 1 % of the stream.
        axis.set_xlim(left=0.01 * rows["horizon"][0])
    share_legend(figure, axes[0])
    return figure
