"""Shift signal on synthetic streams, by how domains begin and by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.figures.style import subplots
from qufur.sweep.statistics import jackknife
from qufur.sweep.tasks import Row
from studies.pacing.streams import model_of
from studies.shifts.scores import HEADER, RULES, WITHIN, cells_of, counts, measure, rate
from studies.shifts.streams import FAMILIES, NO_BEGINNINGS, OF_ANY_NORM, OF_NORM_ONE, ONE_AFTER_ANOTHER

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

LEAST_FOUND = {OF_NORM_ONE: 0.95, OF_ANY_NORM: 0.75}
"""Smallest share of clear beginnings that must be detected."""
MOST_FALSE = {OF_NORM_ONE: 0.1, OF_ANY_NORM: 0.5}
"""Largest number of alarms per 1000 examples in streams without beginnings."""


def cells(seeds: int) -> list[Cell]:
    """Return a cell per stream and seed; it runs all rules."""
    return [
        {"stream": name, "kind": family.beginnings, "norms": family.norms, "set": family.part, "seed": seed}
        for name, family in FAMILIES.items()
        for seed in range(seeds)
    ]


def play(cell: Cell) -> Row:
    """Run every rule on one stream."""
    family = FAMILIES[cell["stream"]]
    return measure(model_of(family.make(cell["seed"])), family.stream(cell["seed"]), cell["seed"])


def judge(table: pl.DataFrame) -> list[Statement]:
    """Evaluate whether clear shifts are detected, and alarms are rare without a shift."""
    held_out = table.filter(table["set"] == "held-out")
    return [
        statement(_of(held_out, kind, norms), norms)
        for statement, kind in ((_finds, ONE_AFTER_ANOTHER), (_is_quiet, NO_BEGINNINGS))
        for norms in LEAST_FOUND
        if len(_of(held_out, kind, norms))
    ]


def _of(table: pl.DataFrame, kind: str, norms: str) -> pl.DataFrame:
    return table.filter((table["kind"] == kind) & (table["norms"] == norms))


def _finds(table: pl.DataFrame, norms: str) -> Statement:
    detected = jackknife(rate, counts(table, "clear_found", "clear"))
    least = LEAST_FOUND[norms]
    return Statement(
        f"shifts, held-out streams, {norms}",
        f"of the domains that come one after another and raise Δ by half, at least {least:.0%} are detected "
        f"within {WITHIN} examples",
        f"{detected.value:.1%} ± {detected.high - detected.value:.1%}",
        detected.within(least, float("inf")),
    )


def _is_quiet(table: pl.DataFrame, norms: str) -> Statement:
    false = jackknife(rate, counts(table, "false", "examples"))
    most = MOST_FALSE[norms] / 1000
    return Statement(
        f"shifts, held-out streams, {norms}",
        f"in streams in which no domain begins, there are at most {1000 * most:g} alarms in 1000 examples",
        f"{1000 * false.value:.3f} ± {1000 * (false.high - false.value):.3f}",
        false.within(-float("inf"), most),
    )


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the detections by type of stream, by rule and by stream."""
    kinds = table.group_by("kind", "norms", "set", maintain_order=True)
    held_out = table.filter((table["set"] == "held-out") & (table["kind"] == ONE_AFTER_ANOTHER))
    rules = [
        [rule, norms, *cells_of(part.filter(part["rule"] == rule))]
        for norms, part in ((norms, _of(held_out, ONE_AFTER_ANOTHER, norms)) for norms in LEAST_FOUND)
        for rule in RULES
        if len(part)
    ]
    streams = table["stream"].unique(maintain_order=True)
    return [
        Listing(
            "Detections, all rules together",
            ["domains begin", "inputs", "set", *HEADER],
            [[*map(str, kind), *cells_of(rows)] for kind, rows in kinds],
        ),
        Listing("One after another, held-out streams, by rule", ["rule", "inputs", *HEADER], rules),
        Listing(
            "By stream, all rules together",
            ["stream", *HEADER],
            [[name, *cells_of(table.filter(table["stream"] == name))] for name in streams],
        ),
    ]


def draw(table: pl.DataFrame) -> Figure:
    """Draw the share of detections against false alarms per 1000 examples, a point per stream and rule."""
    figure, (panel,) = subplots(1, 1)
    for norms in LEAST_FOUND:
        rows = table.filter((table["norms"] == norms) & (table["beginnings"] > 0))
        points = [part for _, part in rows.group_by("stream", "rule", maintain_order=True)]
        detected = [rate(counts(part, "found", "beginnings")) for part in points]
        false = [1000 * rate(counts(part, "false", "examples")) for part in points]
        panel.plot(false, detected, ls="none", marker="o", ms=4, alpha=0.5, label=f"inputs of {norms}")
    panel.set(
        xlabel="false alarms per 1000 examples", ylabel="share of beginnings detected", ylim=(-0.02, 1.02)
    )
    panel.legend(frameon=False)
    return figure


def in_brief(cell: Cell) -> bool:
    """Select a few short streams for a quick run."""
    return cell["stream"] in (
        "homogeneous",
        "iid",
        "five short domains",
        "overlapping subspaces",
        "duplicates",
    )


EXPERIMENT = Experiment(
    "shifts",
    "Shifts detected without labels",
    cells,
    play,
    draw,
    judge,
    seeds=5,
    in_brief=in_brief,
    listings=listings,
)
