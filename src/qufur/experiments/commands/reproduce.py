"""`qufur reproduce`: the paper's experiments, with a verdict on each of its claims."""

from __future__ import annotations

import csv
import platform
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur import __version__
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._table_out import check_folder
from qufur.experiments import PARTS
from qufur.experiments.base import QUICK_SEEDS, Experiment, Statement
from qufur.experiments.page import page
from qufur.experiments.results import Result, skipped
from qufur.experiments.results import reproduce as reproduce_experiments
from qufur.sweep.parallel import PROCESSES

STYLES = {True: "", False: "bold red", None: "dim"}
ANNOUNCED_SECONDS = 60.0
"""Minimum duration that is announced in advance."""
Part = Enum("Part", {name: name for name in PARTS}, type=str)  # type: ignore[misc]
Parts = Annotated[list[Part] | None, typer.Argument(help="Experiments to run. Default: all.")]
Quick = Annotated[bool, typer.Option("--quick", help="Use two seeds and coarser grids.")]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Number of random seeds. Default: that of each experiment, 1 to 20."
    ),
]
Backend = Annotated[
    str, typer.Option(metavar="NAME", help="joblib backend of the processes, such as ray for a cluster.")
]


def reproduce(
    parts: Parts = None,
    seeds: Seeds = None,
    jobs: opt.Jobs = 2,
    backend: Backend = PROCESSES,
    quick: Quick = False,
    out: opt.Out = Path("qufur-out"),
    json: opt.Json = False,
) -> None:
    """Run the paper's experiments and check its claims.

    Prints which claims hold. Writes the page report.html with figures and tables, and the claims to
    claims.csv. Resumes: runs already finished in the folder are not repeated.

    Example:
      qufur reproduce --quick --out reproduction
    """
    names = [part.value for part in parts] if parts else list(PARTS)
    run_experiments(
        {name: PARTS[name] for name in names},
        command=f"qufur reproduce {' '.join(dict.fromkeys(names))}",
        title="Reproduction of the paper's experiments",
        seeds=seeds,
        jobs=jobs,
        backend=backend,
        quick=quick,
        out=out,
        json=json,
    )


def run_experiments(
    parts: Mapping[str, Sequence[Experiment]],
    *,
    command: str,
    title: str,
    seeds: int | None,
    jobs: int,
    backend: str,
    quick: bool,
    out: Path,
    json: bool,
) -> None:
    """Run experiments, write their report and claims to `out`, and print the verdicts."""
    check_folder(out, ["claims.csv", "report.html"])
    begin = time.perf_counter()
    experiments = dict.fromkeys(experiment for part in parts.values() for experiment in part)
    _announce(sum(e.duration(seeds, quick=quick) for e in experiments) / jobs, out)
    results = reproduce_experiments(
        list(experiments), out, seeds=seeds, quick=quick, jobs=jobs, backend=backend
    )
    settings = {
        "command": command + (" --quick" if quick else ""),
        "seeds": str(
            seeds or (QUICK_SEEDS if quick else ", ".join(f"{e.name} {e.seeds}" for e in experiments))
        ),
        "time": f"{time.perf_counter() - begin:.0f} s with {jobs} processes, without runs finished earlier",
        **versions(),
    }
    _write_claims(results, out / "claims.csv")
    report = out / "report.html"
    report.write_text(page(title, results, settings), encoding="utf-8")
    if json:
        _show.print_json(_as_json(results, settings, report))
    else:
        _print(results, report)
        if quick:
            print(f"{QUICK_SEEDS} seeds leave many claims undecided. Run without --quick for more seeds.")


def _announce(seconds: float, out: Path) -> None:
    """Print the expected duration if it is long."""
    if seconds >= ANNOUNCED_SECONDS:
        time_needed = f"{seconds / 3600:.1f} hours" if seconds >= 7200 else f"{seconds / 60:.0f} minutes"
        print(f"This takes about {time_needed}, less if runs are already finished in {out}.", file=sys.stderr)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the numbers depend on."""
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
            _show.print_table(listing.title, listing.header, listing.rows, [])
    if statements:
        print_statements("Claims of the paper and measurements", statements)
    for reason, parts in skipped(results).items():
        print(f"Skipped because data are missing: {', '.join(parts)}. {reason}")
    print(f"Report with figures and tables: {report}")


def print_statements(title: str, statements: Sequence[Statement]) -> None:
    """Print claims, measurements and verdicts; long lines are wrapped, never truncated."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="", show_lines=True)
    for name in ("paper", "statement", "measured", "verdict"):
        table.add_column(name, no_wrap=name == "verdict")
    for part in statements:
        cells = [Text(cell) for cell in (part.source, part.claim, part.measured)]
        table.add_row(*cells, Text(part.verdict, style=STYLES[part.holds]))
    console = Console(highlight=False)
    console.width = max(console.width, 100)
    console.print(title, style="bold", soft_wrap=True)
    console.print(table)
    counts = Counter(part.verdict for part in statements)
    console.print(", ".join(f"{verdict}: {count}" for verdict, count in counts.items()), soft_wrap=True)


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
