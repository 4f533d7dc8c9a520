"""Run experiments and keep what they give: tables, figures, statements, and one page for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qufur.experiments.base import Experiment, Listing, Statement, run_all
from qufur.figures import style
from qufur.progress import track
from qufur.sweep.parallel import PROCESSES, joblib_with, spread

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Result:
    """What came of an experiment.

    Parameters
    ----------
    experiment
        Which one.
    table
        A row per run.
    statements, listings
        Its verdicts and its tables for people.
    files
        What was written: the CSV file first if anything was measured, then the figure as PNG and SVG.
    missing
        What could not be run here, each with the reason.
    """

    experiment: Experiment
    table: pl.DataFrame
    statements: Sequence[Statement]
    listings: Sequence[Listing]
    files: Sequence[Path]
    missing: dict[str, str]

    @property
    def data(self) -> list[str]:
        """Where its data come from, one line for each origin."""
        return sorted(set(self.table["data"])) if "data" in self.table.columns else []

    @property
    def drawing(self) -> str:
        """The figure as SVG, or nothing."""
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
    """Run the experiments that can be run here, and write their tables and figures into a folder."""
    if backend != PROCESSES:
        joblib_with(backend)  # complains before there is a folder
    out.mkdir(parents=True, exist_ok=True)
    rows = out / "runs.jsonl"
    tables = run_all(experiments, seeds=seeds, quick=quick, jobs=jobs, out=rows, backend=backend)
    parts = [(i, experiment, tables[experiment.name], out) for i, experiment in enumerate(experiments)]
    # Drawn here whatever the backend: the files are for this machine.
    finished = dict(track(spread(_finish, parts, jobs if backend == PROCESSES else 1), len(parts), "Drawing"))
    return [finished[i] for i in range(len(parts))]


def skipped(results: Sequence[Result]) -> dict[str, list[str]]:
    """Return what could not be run, once for each reason."""
    found: dict[str, list[str]] = {}
    for part, reason in ((part, why) for result in results for part, why in result.missing.items()):
        parts = found.setdefault(reason, [])
        parts += [part] * (part not in parts)
    return found


def _finish(part: tuple[int, Experiment, pl.DataFrame, Path]) -> tuple[int, Result]:
    place, experiment, table, out = part
    return place, _result(experiment, table, out)


def _result(experiment: Experiment, table: pl.DataFrame, out: Path) -> Result:
    files: list[Path] = []
    missing = experiment.missing()
    if table.is_empty() and missing:
        return Result(experiment, table, [], [], files, missing)
    if not table.is_empty():
        files.append(out / f"{experiment.name}.csv")
        table.write_csv(files[0])
    files += style.save(experiment.draw(table), out, experiment.name)
    return Result(experiment, table, experiment.judge(table), experiment.listings(table), files, missing)
