"""Regression tables: squared loss against three methods with random labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.fixed_budget import SAME
from qufur.sweep.tasks import Row
from studies.real import ratios, tables
from studies.real.methods import FOR_NUMBERS, RIDGE, USUAL
from studies.real.ratios import list_saved
from studies.real.strips import draw_ratios
from studies.real.study import SHARES, Study

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

SECONDS = {
    "bike": 27.0,
    "abalone": 13.0,
    "cpusmall": 20.0,
    "flights": 29.0,
    "temperature": 20.0,
    "trump_approval": 12.0,
    "portraits ±1": 25.0,
    "reviews": 70.0,
    "diabetes": 5.0,
}
STUDY = Study(
    {
        "bike": tables.bike,
        "abalone": tables.abalone,
        "cpusmall": tables.cpusmall,
        "flights": tables.flights,
        "temperature": tables.temperature,
        "trump_approval": tables.trump_approval,
        "portraits ±1": tables.signed_portraits,
        "reviews": tables.reviews,
        "diabetes": tables.diabetes,
    },
    FOR_NUMBERS,
    SECONDS,
)
COLUMNS = {"loss": "all", "late_loss": "late"}
RIVALS = (SAME, RIDGE, USUAL)
LIMITS = {
    (SAME, "loss"): ratios.Limits(0.88, 1.05),
    (SAME, "late_loss"): ratios.Limits(1.02, 1.15),
    (USUAL, "loss"): ratios.Limits(0.70, 1.00),
    (USUAL, "late_loss"): ratios.Limits(0.80, 1.10),
    (RIDGE, "loss"): ratios.Limits(0.70),
}


def cells(seeds: int) -> list[Cell]:
    """Return the cells of every available table: two budgets and four methods."""
    return STUDY.cells(seeds)


def play(cell: Cell) -> Row:
    """Run one method on one table."""
    return STUDY.play(cell)


def seconds(cell: Cell) -> float:
    """Return the approximate seconds of a cell."""
    return STUDY.duration(cell)


def missing() -> dict[str, str]:
    """Return the missing tables, each with the reason."""
    return STUDY.missing()


def judge(table: pl.DataFrame) -> list[Statement]:
    """Compare the ratios with their limits."""
    return ratios.judge(table, "real tables, numbers", LIMITS)


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return all ratios, and the labels saved."""
    return [
        ratios.list_ratios(
            table, "Squared loss of `Experts` with `Steady` ÷ that with random labels", COLUMNS, RIVALS
        ),
        list_saved(table, "loss"),
    ]


def draw(table: pl.DataFrame) -> Figure:
    """Draw all ratios."""
    return draw_ratios(table, COLUMNS, RIVALS)


def in_brief(cell: Cell) -> bool:
    """Select one small table at one budget for a quick run."""
    return bool(cell["stream"] == "diabetes" and cell["share"] == SHARES[True][1])


EXPERIMENT = Experiment(
    "real-numbers",
    "Real tables: numbers",
    cells,
    play,
    draw,
    judge,
    seeds=8,
    in_brief=in_brief,
    missing=missing,
    listings=listings,
    seconds=seconds,
)
