"""Shift signal on real data, whose domains are more similar than synthetic ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import provenance, stream_of, why_missing
from qufur.experiments.paper import fig4
from qufur.experiments.paper.panels import missing_panels
from qufur.figures.style import subplots_for
from qufur.models import Softmax
from qufur.sweep.statistics import jackknife
from qufur.sweep.tasks import Row
from studies.pacing import real as budgets
from studies.shifts.scores import HEADER, RULES, cells_of, counts, measure, rate

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

PANELS = {key: panel for key, panel in fig4.PANELS.items() if "shuffled" not in key} | budgets.PANELS


def cells(seeds: int) -> list[Cell]:
    """Return a cell per stream with available data and seed; it runs all rules."""
    return [
        {"stream": key, "data": provenance(panel.stream), "seed": seed}
        for key, panel in PANELS.items()
        if why_missing(panel.stream) is None
        for seed in range(seeds)
    ]


def play(cell: Cell) -> Row:
    """Run every rule on one order of the data; Δ depends on inputs only, so no model is trained."""
    panel, seed = PANELS[cell["stream"]], cell["seed"]
    stream = stream_of(panel.stream, seed)
    model = panel.model(stream, seed)
    return measure(model.raw if isinstance(model, Softmax) else model, stream, seed)


def missing() -> dict[str, str]:
    """Return the missing data, each with the reason."""
    return missing_panels(PANELS)


def judge(table: pl.DataFrame) -> list[Statement]:
    """Evaluate whether the signal detects shifts, and is quiet on randomly ordered rows."""
    if table.is_empty():
        return []
    parts = (
        (_finds, table.filter(table["beginnings"] > 0)),
        (_is_quiet, table.filter(table["beginnings"] == 0)),
    )
    return [statement(rows) for statement, rows in parts if len(rows)]


def _finds(table: pl.DataFrame) -> Statement:
    detected = jackknife(rate, counts(table, "found", "beginnings"))
    return Statement(
        "shifts, real data with domains",
        "at least half of the beginnings are detected within 50 examples",
        f"{detected.value:.0%} ± {detected.high - detected.value:.0%}",
        detected.within(0.5, float("inf")),
    )


def _is_quiet(table: pl.DataFrame) -> Statement:
    false = jackknife(rate, counts(table, "false", "examples"))
    return Statement(
        "shifts, real data in random order",
        "there are at most 0.1 alarms in 1000 examples",
        f"{1000 * false.value:.3f} ± {1000 * (false.high - false.value):.3f}",
        false.within(-float("inf"), 1e-4),
    )


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the detections in each dataset, all rules together."""
    rows = [
        [panel.name, *cells_of(table.filter(table["stream"] == key))]
        for key, panel in PANELS.items()
        if key in table["stream"]
    ]
    return [Listing("Detections on real data, all rules together", ["data", *HEADER], rows)]


def draw(table: pl.DataFrame) -> Figure:
    """Draw the share of detected shifts per rule; datasets without shifts have no bars."""
    available = [key for key in PANELS if key in table["stream"]]
    figure, axes = subplots_for(len(available))
    for axis, key in zip(axes, available, strict=True):
        rows = table.filter(table["stream"] == key)
        shares = [rate(counts(rows.filter(rows["rule"] == rule), "found", "beginnings")) for rule in RULES]
        axis.barh(list(RULES), shares, height=0.6)
        axis.set(title=PANELS[key].name, xlabel="share of beginnings detected", xlim=(0, 1))
    return figure


def in_brief(cell: Cell) -> bool:
    """Select one dataset with domains and one without for a quick run."""
    return cell["stream"] in ("portraits", "abalone")


EXPERIMENT = Experiment(
    "shifts-real",
    "Shifts detected without labels, on real data",
    cells,
    play,
    draw,
    judge,
    seeds=5,
    in_brief=in_brief,
    missing=missing,
    listings=listings,
)
