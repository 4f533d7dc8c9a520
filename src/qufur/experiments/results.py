"""Experiment runs and their results: tables, figures, statements and one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qufur._internal.progress import track
from qufur.experiments.base import Experiment, Listing, Statement, Table, run_all
from qufur.figures import style
from qufur.sweep.parallel import PROCESSES, joblib_with, parallel_map


@dataclass(frozen=True)
class Result:
    """Result of one experiment.

    Parameters
    ----------
    experiment
        Experiment that was run.
    table
        One row per run.
    statements, listings
        Verdicts and tables for readers.
    files
        Written files: the CSV file first if anything was measured, then the figure as PNG and SVG.
    missing
        Skipped parts, each with the reason.
    """

    experiment: Experiment
    table: Table
    statements: Sequence[Statement]
    listings: Sequence[Listing]
    files: Sequence[Path]
    missing: dict[str, str]

    @property
    def data(self) -> list[str]:
        """Provenance of the data, one line per origin."""
        return sorted(set(self.table["data"])) if "data" in self.table.columns else []

    @property
    def drawing(self) -> str:
        """Figure as SVG, or an empty string."""
        return next((path.read_text() for path in self.files if path.suffix == ".svg"), "")


def reproduce(
    experiments: Sequence[Experiment],
    out: Path,
    *,
    seeds: int | None,
    quick: bool,
    jobs: int,
    backend: str = PROCESSES,
) -> list[Result]:
    """Run the experiments whose data are available, and write tables and figures into a folder."""
    if backend != PROCESSES:
        joblib_with(backend)  # raises before the folder is created
    out.mkdir(parents=True, exist_ok=True)
    rows = out / "runs.jsonl"
    tables = run_all(experiments, seeds=seeds, quick=quick, jobs=jobs, out=rows, backend=backend)
    parts = [(experiment, tables[experiment.name], out) for experiment in experiments]
    # Always draw on this machine: the files belong here.
    finished = parallel_map(_finish, parts, jobs if backend == PROCESSES else 1)
    by_name = {result.experiment.name: result for result in track(finished, len(parts), "Drawing")}
    return [by_name[experiment.name] for experiment in experiments]


def skipped(results: Sequence[Result]) -> dict[str, list[str]]:
    """Return the parts that were skipped, by reason; a part appears once per reason."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        for part, reason in result.missing.items():
            parts = by_reason.setdefault(reason, [])
            if part not in parts:
                parts.append(part)
    return by_reason


def _finish(part: tuple[Experiment, Table, Path]) -> Result:
    experiment, table, out = part
    files: list[Path] = []
    missing = experiment.missing()
    if table.is_empty() and missing:
        return Result(experiment, table, [], [], files, missing)
    if not table.is_empty():
        files.append(out / f"{experiment.name}.csv")
        table.write_csv(files[0])
    files += style.save(experiment.draw(table), out, experiment.name)
    return Result(experiment, table, experiment.judge(table), experiment.listings(table), files, missing)
