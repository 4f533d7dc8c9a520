"""Speed and memory of `qufur ask` on a million rows, after the labels of an earlier table."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.installed import importable
from benchmarks.scale import environment
from benchmarks.text import Progress, Table

FIRST, ROWS = 50_000, 10**6
COLUMNS = 8
CITIES = ["Berlin", "Oslo", "Paris", "Rome"]
BUDGET = "1%"
MODELS = {"Ridge": ["--model", "ridge", "--label-range", "-20", "20"], "Experts": []}
"""Command-line options of each model."""


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Run `ask`, `tell` and a second `ask`, each in a separate process."""
    if not importable("typer") or not Path("/proc/self/statm").exists():
        return []
    with TemporaryDirectory() as name:
        folder, first, rows = Path(name), *((300, 600) if quick else (FIRST, ROWS))
        progress.say(f"command: writing {rows:,} rows")
        rng = np.random.default_rng(7)
        _write(folder / "first.csv", rng, 0, first)
        _write(folder / "second.csv", rng, first, rows)
        return [_ask(folder, model, rows, progress) for model in MODELS]


def _write(path: Path, rng: np.random.Generator, start: int, rows: int) -> None:
    """Write rows of an id, numbers in several units, an hour and a city."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", *(f"x{i}" for i in range(COLUMNS)), "hour", "city"])
        for at in range(start, start + rows):
            numbers = (rng.standard_normal(COLUMNS) * 10.0 ** (np.arange(COLUMNS) % 3)).round(3)
            table.writerow([at + 1, *numbers.tolist(), at % 24, CITIES[rng.integers(len(CITIES))]])


def _ask(folder: Path, model: str, rows: int, progress: Progress) -> dict[str, Any]:
    progress.say(f"command: {model}")
    state, out = folder / f"{model}.qufur", folder / f"{model}.csv"
    to, options = ["--state", str(state), "-o", str(out)], ["--id", "id", "--budget", BUDGET, *MODELS[model]]
    _command("ask", str(folder / "first.csv"), *to, *options)
    _fill_in(out)
    _command("tell", str(out), "--state", str(state))
    measurements = _command("ask", str(folder / "second.csv"), *to)
    return {"model": model, "rows": rows} | measurements


def _fill_in(path: Path) -> None:
    """Write a label into every row, as an annotator would."""
    with path.open(newline="") as file:
        records = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(records[0]))
        table.writeheader()
        for record in records:
            label = float(record["x0"]) + (int(record["hour"]) - 12) ** 2 / 50 + (record["city"] == "Rome")
            table.writerow(record | {"label": f"{label:.3f}"})


def _command(*arguments: str) -> dict[str, Any]:
    call = [sys.executable, "-m", "benchmarks.asking", *arguments]
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True, env=environment())
    measurements: dict[str, Any] = json.loads(done.stdout)
    return measurements


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Return a table of speeds and memory."""
    rows = [
        [
            r["model"],
            f"{r['rows']:,}",
            f"{r['rows'] / r['cpu_seconds']:,.0f}",
            f"{1e6 * r['cpu_seconds'] / r['rows']:.1f}",
            f"{r['seconds']:.0f} s",
            f"{r['peak']:.0f} MB",
        ]
        for r in results
    ]
    header = ["command", "rows", "rows per CPU second", "CPU µs per row", "wall time", "peak"]
    title = f"`qufur ask` on a CSV table of {COLUMNS + 3} columns at {BUDGET} of labels, imports included"
    return [Table(title, header, rows)] if rows else []
