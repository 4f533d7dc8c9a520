"""`qufur reproduce theory`: what the theorems say against what is measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from qufur.cli import show
from qufur.experiments.base import run_all
from qufur.experiments.theory import THEORY
from qufur.figures import style


def reproduce_theory(seeds: int, jobs: int, out: Path, json: bool) -> None:
    """Run every experiment on the theorems, draw it, and print the statements with their verdicts."""
    tables = run_all(THEORY, seeds=seeds, jobs=jobs, out=out / "theory.jsonl")
    files, statements = [], []
    for experiment in THEORY:
        table = tables[experiment.name]
        name = f"theory-{experiment.name}"
        table.write_csv(out / f"{name}.csv")
        files += [out / f"{name}.csv", *style.save(experiment.draw(table), out, name)]
        statements += experiment.judge(table)
    if json:
        listed = [{**asdict(statement), "verdict": statement.verdict} for statement in statements]
        show.print_json({"files": [str(path) for path in files], "statements": listed})
        return
    show.print_statements("The theorems, checked by numbers", statements)
    print(f"Written: {len(THEORY)} figures with their tables, {out / 'theory-*'}")
