"""Figures 1 and 3 of the paper within a minute: 20 seeds, and data installed by pip."""

from __future__ import annotations

from dataclasses import replace

from qufur.experiments.base import Cell
from qufur.experiments.paper import fig1, fig3
from qufur.experiments.paper.panels import NO_LABELS, figure_of

SEEDS = 5
"""Seeds, with four streams each."""
RULES = ("QuFUR", "Uniform", "Greedy", NO_LABELS)
"""Rules that the paper discusses."""
MAX_SHARE = 0.6
"""Largest share of labels of rates and budgets; rules are compared at shares up to one half."""
_ALL = figure_of(
    "demo-fig1",
    "The paper's Figure 1, its synthetic data",
    "Section 6, Figure 1",
    {name: fig1.PANELS[name] for name in ("synthetic", "synthetic-text")},
)


def _cells(seeds: int) -> list[Cell]:
    return [
        cell
        for cell in _ALL.cells(seeds)
        if cell["rule"] in RULES and (cell["rule"] == "QuFUR" or cell["parameter"] <= MAX_SHARE)
    ]


FIGURE_1 = replace(_ALL, cells=_cells, seeds=SEEDS)
FIGURE_3 = replace(fig3.EXPERIMENT, name="demo-fig3", title="The paper's Figure 3", seeds=SEEDS)
