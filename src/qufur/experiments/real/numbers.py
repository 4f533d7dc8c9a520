"""Tables whose labels are numbers: squared loss against three ways to use labels at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.real import ratios, tables
from qufur.experiments.real.methods import FOR_NUMBERS, RIDGE, SAME, USUAL
from qufur.experiments.real.saved import list_saved
from qufur.experiments.real.strips import draw_ratios
from qufur.experiments.real.study import SHARES, Study
from qufur.sweep.tasks import Row

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
    """Return every table that is here, at two budgets, in four ways."""
    return STUDY.cells(seeds)


def play(cell: Cell) -> Row:
    """Run one way on one table."""
    return STUDY.play(cell)


def seconds(cell: Cell) -> float:
    """Return how long a cell takes, about."""
    return STUDY.duration(cell)


def missing() -> dict[str, str]:
    """Return which tables are not here, each with the reason."""
    return STUDY.missing()


def judge(table: pl.DataFrame) -> list[Statement]:
    """Compare ratios with their limits."""
    return ratios.judge(table, "real tables, numbers", LIMITS)


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return all ratios, and what they come to in labels."""
    return [
        ratios.list_ratios(
            table, "Squared loss of `Experts` with `Steady` ÷ that with labels at random", COLUMNS, RIVALS
        ),
        list_saved(table, "loss"),
    ]


def draw(table: pl.DataFrame) -> Figure:
    """Draw all ratios."""
    return draw_ratios(table, COLUMNS, RIVALS)


def in_brief(cell: Cell) -> bool:
    """One small table at one budget does for a first look."""
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
