"""Panels of Figures 1 and 4: loss against labels of every rule, on the same streams and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import missing_among, named, provenance, stream_of, why_missing
from qufur.experiments.paper.equal_labels import compare, list_means
from qufur.figures.curves import draw_curves
from qufur.figures.style import share_legend, subplots_for
from qufur.models import Model
from qufur.rules import FixedBudget, Greedy, QuFUR, Rule, Threshold, Uniform
from qufur.streams import Stream
from qufur.sweep.grid import play as play_rule
from qufur.sweep.tasks import Row

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

# The paper's rates from 0.05 on, and a smaller one, so that all curves reach 5 % of the stream.
RATES = (0.025, *(round(0.05 * k, 2) for k in range(1, 21)))
SHARES = (0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
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
            "Greedy": SHARES,
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
            {
                "panel": key,
                "data": provenance(panel.stream),
                "seed": seed,
                "rule": rule,
                "parameter": parameter,
            }
            for key, panel in panels.items()
            if why_missing(panel.stream) is None
            for seed in range(panel.repeats * seeds)
            for rule, parameters in panel.grid.items()
            for parameter in parameters
        ]

    def in_brief(cell: Cell) -> bool:
        rule, parameter = cell["rule"], cell["parameter"]
        if rule in ("Uniform", "Greedy") and parameter > 0.6:
            return False  # rules are compared at up to half of the labels; these runs are the longest
        parameters = panels[cell["panel"]].grid[rule]
        return parameters.index(parameter) % (4 if rule == "Threshold" else 2) == 0

    def judge(table: pl.DataFrame) -> list[Statement]:
        return [
            statement
            for key, panel in panels.items()
            if key in table["panel"]
            for statement in compare(
                table.filter(table["panel"] == key), source, panel.name, panel.measures, panel.exceptions
            )
        ]

    def listings(table: pl.DataFrame) -> list[Listing]:
        return [
            list_means(table.filter(table["panel"] == key), measure, f"{panel.name}: {what}")
            for key, panel in panels.items()
            if key in table["panel"]
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


def draw_panels(panels: Mapping[str, Panel], table: pl.DataFrame) -> Figure:
    """Draw the panels with data, three per row, with one common legend."""
    available = {key: panel for key, panel in panels.items() if key in table["panel"]}
    figure, axes = subplots_for(len(available))
    for axis, (key, panel) in zip(axes, available.items(), strict=True):
        measure, name = next(iter(panel.measures.items()))
        rows = table.filter(table["panel"] == key)
        draw_curves(axis, rows, measure, name, panel.name)
        unlabelled = rows.filter(rows["rule"] == NO_LABELS)[measure].mean()
        axis.axhline(unlabelled, color="0.4", lw=1, ls=":", label="No labels")
        # Some runs buy hardly any labels; show budgets above 1 % of the stream.
        axis.set_xlim(left=0.01 * rows["horizon"][0])
    share_legend(figure, axes[0])
    return figure
