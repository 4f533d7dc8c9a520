"""Classification tables: errors and log loss against two methods with random labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.fixed_budget import SAME
from qufur.sweep.tasks import Row
from studies.real import ratios, tables
from studies.real.methods import FOR_CLASSES, USUAL
from studies.real.ratios import list_saved
from studies.real.strips import draw_ratios
from studies.real.study import SHARES, Study

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

SECONDS = {
    "portraits": 30.0,
    "turning digits": 40.0,
    "phishing": 18.0,
    "digits": 33.0,
    "breast_cancer": 9.0,
    "late flights": 70.0,
    "busy bike hours": 53.0,
}
STUDY = Study(
    {
        "portraits": tables.portraits,
        "turning digits": tables.turning_digits,
        "phishing": tables.phishing,
        "digits": tables.digits,
        "breast_cancer": tables.breast_cancer,
        "late flights": tables.late_flights,
        "busy bike hours": tables.busy_bike,
    },
    FOR_CLASSES,
    SECONDS,
)
ERRORS = {"error": "all", "late_error": "late"}
LOG_LOSSES = {"log_loss": "all", "late_log_loss": "late"}
RIVALS = (SAME, USUAL)
LIMITS = {
    (rival, f"{late}{loss}"): limits
    for loss in ("error", "log_loss")
    for rival, late, limits in (
        (USUAL, "", ratios.Limits(0.85, 1.03)),
        (SAME, "", ratios.Limits(0.95, 1.05)),
        (SAME, "late_", ratios.Limits(1.00, 1.08)),
    )
}


def cells(seeds: int) -> list[Cell]:
    """Return the cells of every available table: two budgets and three methods."""
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
    return ratios.judge(table, "real tables, classes", LIMITS)


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return all ratios of errors and log losses, and the labels saved by errors."""
    titles = {"Errors": ERRORS, "Log loss": LOG_LOSSES}
    results = [
        ratios.list_ratios(
            table, f"{title} of `Experts` with `Steady` ÷ that with random labels", columns, RIVALS
        )
        for title, columns in titles.items()
    ]
    return [*results, list_saved(table, "error")]


def draw(table: pl.DataFrame) -> Figure:
    """Draw the ratios of errors."""
    return draw_ratios(table, ERRORS, RIVALS)


def in_brief(cell: Cell) -> bool:
    """Select one small table at one budget for a quick run."""
    return bool(cell["stream"] == "breast_cancer" and cell["share"] == SHARES[True][1])


EXPERIMENT = Experiment(
    "real-classes",
    "Real tables: classes",
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
