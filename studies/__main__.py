"""Command line of the studies: `python -m studies [real|pacing|shifts|pool …]`."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from qufur.cli import _options as opt
from qufur.experiments.commands.reproduce import Backend, Quick, Seeds, run_experiments
from qufur.sweep.parallel import PROCESSES
from studies import STUDIES

Study = Enum("Study", {name: name for name in STUDIES}, type=str)  # type: ignore[misc]


def main(
    studies: Annotated[list[Study] | None, typer.Argument(help="Studies to run. Default: all.")] = None,
    seeds: Seeds = None,
    jobs: opt.Jobs = 2,
    backend: Backend = PROCESSES,
    quick: Quick = False,
    out: opt.Out = Path("qufur-out"),
    json: opt.Json = False,
) -> None:
    """Run the studies cited in the manual; write report.html, claims.csv and a CSV file for each."""
    names = [study.value for study in studies] if studies else list(STUDIES)
    run_experiments(
        {name: STUDIES[name] for name in names},
        command=f"python -m studies {' '.join(dict.fromkeys(names))}",
        title="Studies of qufur",
        seeds=seeds,
        jobs=jobs,
        backend=backend,
        quick=quick,
        out=out,
        json=json,
    )


if __name__ == "__main__":
    try:
        typer.run(main)
    except ValueError as error:
        sys.exit(f"studies: {error}")
