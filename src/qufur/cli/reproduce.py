"""`qufur reproduce`: the paper's experiments, and what becomes of its claims."""

from __future__ import annotations

import csv
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur import __version__
from qufur.cli import show
from qufur.cli.options import Jobs, Json, Out
from qufur.cli.outputs import check_folder
from qufur.experiments import OF_THE_PAPER, PARTS
from qufur.experiments.base import QUICK_SEEDS
from qufur.experiments.page import page
from qufur.experiments.results import Result, skipped
from qufur.experiments.results import reproduce as reproduce_experiments
from qufur.sweep.parallel import PROCESSES

PATIENCE = 60.0
"""Seconds from which on people are told in advance."""
Part = Enum("Part", {name: name for name in PARTS}, type=str)  # type: ignore[misc]
Parts = Annotated[
    list[Part] | None, typer.Argument(help="Which; all but pacing, shifts, real and pool if none is named.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Two seeds and coarser grids: a first look.")]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Seeds of streams and coins.  [default: 5; theory 20, real, pool 8]"
    ),
]
Backend = Annotated[
    str, typer.Option(metavar="NAME", help="Backend of joblib for the processes, such as ray for a cluster.")
]


def reproduce(
    parts: Parts = None,
    seeds: Seeds = None,
    jobs: Jobs = 2,
    backend: Backend = PROCESSES,
    quick: Quick = False,
    out: Out = Path("qufur-out"),
    json: Json = False,
) -> None:
    """Run the paper's experiments and print which of its claims hold.

    Writes a page, report.html, with figures and tables, and the claims as claims.csv. Runs that are finished
    in the folder already are not done again.
    """
    check_folder(out, ["claims.csv", "report.html"])
    begin = time.perf_counter()
    names = dict.fromkeys([part.value for part in parts] if parts else OF_THE_PAPER)
    experiments = dict.fromkeys(experiment for name in names for experiment in PARTS[name])
    _announce(sum(e.duration(seeds, quick=quick) for e in experiments) / jobs, out)
    results = reproduce_experiments(
        list(experiments), out, seeds=seeds, quick=quick, jobs=jobs, backend=backend
    )
    settings = {
        "command": " ".join(["qufur reproduce", *names, *(["--quick"] if quick else [])]),
        "seeds": str(seeds or (QUICK_SEEDS if quick else "5, 20 for theorems, 8 for real tables")),
        "time": f"{time.perf_counter() - begin:.0f} s with {jobs} processes, without what was there already",
        **versions(),
    }
    _write_claims(results, out / "claims.csv")
    report = out / "report.html"
    report.write_text(page("The paper's experiments, run again", results, settings), encoding="utf-8")
    if json:
        show.print_json(_as_json(results, settings, report))
    else:
        _print(results, report)
        if quick:
            print(
                f"{QUICK_SEEDS} seeds leave much undecided; without --quick there are more, in some minutes."
            )


def _announce(seconds: float, out: Path) -> None:
    """Say how long it will take, where that is known and long."""
    if seconds >= PATIENCE:
        time_needed = f"{seconds / 3600:.1f} hours" if seconds >= 7200 else f"{seconds / 60:.0f} minutes"
        print(f"This takes about {time_needed}, less what is finished in {out} already.", file=sys.stderr)


def versions() -> dict[str, str]:
    """Return those of Python and of the packages that numbers depend on."""
    packages = ("numpy", "scipy", "scikit-learn", "polars", "matplotlib")
    ours = {"Python": platform.python_version(), "qufur": __version__}
    return ours | {name: metadata.version(name) for name in packages}


def _write_claims(results: Sequence[Result], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["experiment", "paper", "statement", "measured", "verdict"])
        for result in results:
            for s in result.statements:
                rows.writerow([result.experiment.name, s.source, s.claim, s.measured, s.verdict])


def _print(results: Sequence[Result], report: Path) -> None:
    statements = [statement for result in results for statement in result.statements]
    for result in results:
        for listing in result.listings:
            show.print_table(listing.title, listing.header, listing.rows, [])
    if statements:
        show.print_statements("What the paper says, and what was measured", statements)
    for reason, parts in skipped(results).items():
        print(f"Skipped, for want of data: {', '.join(parts)}. {reason}")
    print(f"The report, with figures and tables: {report}")


def _as_json(results: Sequence[Result], settings: dict[str, str], report: Path) -> dict[str, Any]:
    return {
        "report": str(report),
        "settings": settings,
        "experiments": {
            result.experiment.name: {
                "files": [str(path) for path in result.files],
                "data": result.data,
                "missing": result.missing,
                "statements": [
                    {**asdict(statement), "verdict": statement.verdict} for statement in result.statements
                ],
            }
            for result in results
        },
    }
