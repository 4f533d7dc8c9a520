"""`qufur choose` on tables of a million rows: seconds, and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.installed import importable
from benchmarks.large import WRITERS, Drawn
from benchmarks.scale import environment
from benchmarks.text import Progress, Table

ROWS, COLUMNS = 10**6, 100
QUICK_ROWS = 3000
BUDGET = 50


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Write every file, choose from it in a separate process, and delete it."""
    if not (importable("typer") and importable("polars") and Path("/proc/self/statm").exists()):
        return []
    rows = QUICK_ROWS if quick else ROWS
    return [_measure(rows, format, progress) for format in WRITERS]


def _measure(rows: int, format: str, progress: Progress) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path, out = Path(folder, f"pool.{format}"), str(Path(folder, "chosen.csv"))
        progress.say(f"pool: writing {rows:,} × {COLUMNS} as {format}")
        label = WRITERS[format](path, Drawn(rows, COLUMNS))
        progress.say(f"pool: choosing from {rows:,} × {COLUMNS} from {format}")
        command = ["choose", str(path), "--skip", label, "--budget", str(BUDGET), "-o", out]
        call = [sys.executable, "-m", "benchmarks.asking", *command]
        done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True, env=environment())
        measurements: dict[str, Any] = json.loads(done.stdout)
        return {"format": format, "rows": rows, "megabytes": path.stat().st_size / 2**20} | measurements


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Return seconds and memory."""
    rows = [
        [
            f"{r['rows']:,} × {COLUMNS} from {r['format']}",
            f"{r['megabytes']:,.0f} MB",
            f"{r['cpu_seconds']:.1f} s",
            f"{r['peak']:.0f} MB",
        ]
        for r in results
    ]
    header = ["pool", "file", "CPU", "peak"]
    title = f"`qufur choose` of {BUDGET} rows, on one core, imports included"
    return [Table(title, header, rows)] if rows else []
