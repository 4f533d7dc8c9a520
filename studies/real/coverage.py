"""Coverage of prediction intervals and of report intervals on five real tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.estimates.intervals import Errors
from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import missing_among, provenance, stream_of, why_missing
from qufur.figures.style import LOOKS, subplots
from qufur.learner import Learner
from qufur.rules import Steady
from qufur.rules.from_budget import labels_of
from qufur.run import run
from qufur.streams import Arrays
from qufur.sweep.tasks import Row
from qufur.trace import RECORD, Trace
from studies.real import tables
from studies.real.ratios import Ratio
from studies.real.study import LAST, SHARES, SHORT

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

TABLES = {
    "diabetes": tables.diabetes,
    "trump_approval": tables.trump_approval,
    "abalone": tables.abalone,
    "cpusmall": tables.cpusmall,
    "bike": tables.bike,
}
SECONDS = {"diabetes": 6.0, "trump_approval": 12.0, "abalone": 13.0, "cpusmall": 20.0, "bike": 27.0}
LEVELS = (0.8, 0.9, 0.95)
JUDGED, SLACK = 0.9, 0.03
"""Evaluated level, and the tolerated shortfall of coverage: no table is exchangeable."""
MOMENTS = 20
"""Number of intermediate reports per run."""
PARTS = {"covered": "over all rows", "late_covered": "in the last fifth"}


def cells(seeds: int) -> list[Cell]:
    """Return the cells of every available table at the larger of its budgets, ordered by seed."""
    available = {name: make for name, make in TABLES.items() if why_missing(make) is None}
    return [
        {"stream": name, "data": provenance(make), "seed": seed}
        for seed in range(seeds)
        for name, make in available.items()
    ]


def play(cell: Cell) -> Row:
    """Run experts on labels chosen by `Steady` and compare all intervals with the truth."""
    from qufur.models import Experts

    table, seed = stream_of(TABLES[cell["stream"]], 0), cell["seed"]
    budget = labels_of(SHARES[table.horizon < SHORT][1], table.horizon)
    return measure(Learner(Experts(seed=seed), Steady(budget, table.horizon), seed=seed), table)


def measure(learner: Learner, table: Arrays) -> Row:
    """Return the coverage of prediction intervals, and whether any report was wrong.

    The prediction interval of an example is computed before its label is bought. Every finite interval
    counts, whether or not the label is bought. `report_held` is 1 if, at each of 20 moments of the run, the
    interval of the report contains the mean loss of the examples that the report covers.
    """
    records, held = np.empty(0, RECORD), True
    for part in np.array_split(np.arange(table.horizon), MOMENTS):
        trace = run(learner, Arrays(table.X[part], table.y[part]))
        records = np.concatenate([records, trace.records])
        report = learner.report()
        # The report covers neither examples of zero probability nor those before the labels have a range.
        losses = records["loss"][records["probability"] > 0]
        truth = float(losses[len(losses) - round(report.covered * len(records)) :].mean())
        held &= report.interval[0] <= truth <= report.interval[1]
    return {
        "queries": learner.spent,
        "report_held": int(held),
        "report_error": abs(report.loss / truth - 1),
        "report_width": (report.interval[1] - report.interval[0]) / truth,
        "beyond": report.beyond,
        **_covered(Trace(records), table.y),
    }


def _covered(trace: Trace, y: Floats) -> Row:
    error, r = abs(trace.prediction - y)[:, None], half_widths(trace, y, LEVELS)
    finite = np.isfinite(r)
    late = np.arange(len(y))[:, None] >= round((1 - LAST) * len(y))
    return {
        "level": list(LEVELS),
        "covered": _shares(error <= r, finite),
        "late_covered": _shares(error <= r, finite & late),
        "half_width": (np.where(finite, r, 0.0).sum(axis=0) / finite.sum(axis=0) / y.std()).tolist(),
    }


def _shares(inside: Bools, counted: Bools) -> list[float]:
    return list(((inside & counted).sum(axis=0) / counted.sum(axis=0)).tolist())


def half_widths(trace: Trace, y: Floats, levels: Sequence[float]) -> Floats:
    """Return the half-width of the prediction interval at each level, from the labels bought before."""
    errors, results = Errors(), np.full((len(y), len(levels)), np.inf)
    bought = np.flatnonzero(trace.query)
    mean = np.cumsum(trace.probability) / np.arange(1, len(y) + 1)
    for row, following in zip(bought, [*bought[1:], len(y) - 1], strict=True):
        errors.add_one(abs(trace.prediction[row] - y[row]), trace.probability[row])
        results[row + 1 : following + 1] = errors.quantiles(levels, mean[row])
    return results


def shares(table: pl.DataFrame, level: float, column: str) -> dict[str, Ratio]:
    """Return the share of labels covered on each table, with its standard error over seeds."""
    rows = table.filter(table["level"] == level)
    results = {}
    for name in table["stream"].unique(maintain_order=True):
        covered = rows.filter(rows["stream"] == name)[column].to_numpy()
        results[name] = Ratio.of(covered, np.ones(len(covered)))
    return results


def judge(table: pl.DataFrame) -> list[Statement]:
    """Evaluate whether the intervals reach their nominal coverage."""
    if table.is_empty():
        return []
    return [*(_of_predictions(table, column) for column in PARTS), _of_reports(table)]


def _of_predictions(table: pl.DataFrame, column: str) -> Statement:
    results, least = shares(table, JUDGED, column), JUDGED - SLACK
    lowest, highest = (end(results, key=lambda name: results[name].value) for end in (min, max))
    has_errors = not any(math.isnan(share.error) for share in results.values())
    return Statement(
        "real tables, prediction intervals",
        f"intervals at {JUDGED:g} contain at least {least:.2f} of the labels {PARTS[column]}, on every table",
        f"{results[lowest]} ({lowest}) to {results[highest]} ({highest})",
        all(share.value + 2 * share.error >= least for share in results.values()) if has_errors else None,
    )


def _of_reports(table: pl.DataFrame) -> Statement:
    from scipy.stats import binom

    runs = table.filter(table["level"] == JUDGED)
    missed, count = int((runs["report_held"] == 0).sum()), len(runs)
    where = sorted(set(runs.filter(runs["report_held"] == 0)["stream"]))
    return Statement(
        "real tables, the report",
        f"its interval misses the mean loss, at any of {MOMENTS} moments, in at most 5 % of the runs",
        f"missed in {missed} of {count} runs" + (f" ({', '.join(where)})" if where else ""),
        bool(binom.sf(missed - 1, count, 0.05) > 0.025),
    )


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the coverage at every level, and the accuracy of reports."""
    return [_list_predictions(table), _list_reports(table)]


def _list_predictions(table: pl.DataFrame) -> Listing:
    columns = {
        f"{level:g}, {part}": shares(table, level, column)
        for column, part in (("covered", "all"), ("late_covered", "late"))
        for level in LEVELS
    }
    width = shares(table, JUDGED, "half_width")
    rows = [
        [name, *(str(part[name]) for part in columns.values()), f"{width[name].value:.2f}"] for name in width
    ]
    header = ["table", *columns, f"half-width at {JUDGED:g}, in standard deviations of the labels"]
    return Listing("Labels in prediction intervals", header, rows)


def _list_reports(table: pl.DataFrame) -> Listing:
    rows = []
    for name in table["stream"].unique(maintain_order=True):
        runs = table.filter((table["stream"] == name) & (table["level"] == JUDGED))
        error, width, beyond = (
            float(runs[key].to_numpy().mean()) for key in ("report_error", "report_width", "beyond")
        )
        held = f"{runs['report_held'].sum()} of {len(runs)}"
        rows.append([name, held, f"{error:.0%}", f"{width:.1f}", f"{beyond:.1f}"])
    header = ["table", "runs without a miss", "relative error", "width ÷ loss", "labels beyond the range"]
    return Listing("The report's interval for the mean loss, at the end", header, rows)


def draw(table: pl.DataFrame) -> Figure:
    """Draw actual against nominal coverage, for all rows and for the last fifth."""
    figure, panels = subplots(1, len(PARTS))
    for panel, (column, title) in zip(panels, PARTS.items(), strict=True):
        panel.sharey(panels[0])
        results = [shares(table, level, column) for level in LEVELS]
        for name, look in zip(results[0], LOOKS.values(), strict=False):
            each = [part[name] for part in results]
            bars = [2 * share.error for share in each]
            panel.errorbar(LEVELS, [share.value for share in each], bars, ms=4, lw=1, label=name, **look)
        panel.plot(LEVELS, LEVELS, color="#000000", lw=1.0, ls="--", label="nominal")
        panel.set(title=title, xlabel="nominal coverage", ylabel="share of labels covered", xticks=LEVELS)
    panels[0].legend(frameon=False)
    return figure


def missing() -> dict[str, str]:
    """Return the missing tables, each with the reason."""
    return missing_among(TABLES)


def seconds(cell: Cell) -> float:
    """Return the approximate seconds of a cell."""
    return SECONDS[cell["stream"]]


def in_brief(cell: Cell) -> bool:
    """Select one small table for a quick run."""
    return bool(cell["stream"] == "diabetes")


EXPERIMENT = Experiment(
    "real-coverage",
    "Real tables: intervals",
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
