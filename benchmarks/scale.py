"""Runs over files larger than their allowed memory: rows per second, and memory over time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import benchmarks
import qufur
from benchmarks import compiled
from benchmarks.installed import importable
from benchmarks.large import WRITERS, Drawn
from benchmarks.text import Progress, Table

PLAIN, COMPILED = "plain", "compiled"
SIZES = (
    (10**6, 88, "npy", PLAIN),
    (10**6, 88, "parquet", PLAIN),
    (10**5, 768, "npy", PLAIN),
    (10**5, 768, "parquet", PLAIN),
    (10**6, 88, "npy", COMPILED),
    (10**7, 32, "npy", COMPILED),
)
QUICK = ((20_000, 8, "npy", PLAIN), (20_000, 8, "parquet", PLAIN), (20_000, 8, "npy", COMPILED))


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Write every file, run over it in a separate process, and delete it."""
    if not Path("/proc/self/statm").exists():
        return []  # process memory is not readable on this platform
    sizes = [size for size in (QUICK if quick else SIZES) if size[2] == "npy" or importable("polars")]
    sizes = [size for size in sizes if size[3] == PLAIN or compiled.missing() is None]
    return [_measure(*size, progress) for size in sizes]


def _measure(rows: int, dim: int, format: str, loops: str, progress: Progress) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"rows.{format}")
        progress.say(f"scale: writing {rows:,} × {dim} as {format}")
        target = WRITERS[format](path, Drawn(rows, dim))
        progress.say(f"scale: running over {rows:,} × {dim} from {format}")
        command = [sys.executable, "-m", "benchmarks.memory", str(path), target, loops]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment())
        measurements: dict[str, Any] = json.loads(done.stdout)
        return {
            "format": format,
            "loops": loops,
            "megabytes": path.stat().st_size / 2**20,
            **measurements,
            "growth": _growth(measurements),
        }


def environment() -> dict[str, str]:
    """Return an environment with the same code and one BLAS thread for a new process."""
    folders = [str(Path(module.__file__).parents[1]) for module in (benchmarks, qufur)]
    path = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}


def _growth(measurements: dict[str, Any]) -> float:
    """Return the MB by which the maximum in the last fifth of a run exceeds that in the second fifth.

    The first fifth is left out because the run warms up.
    """
    samples = [memory for _, _, memory in measurements["samples"]]
    fifth = len(samples) // 5
    return float(max(samples[4 * fifth :]) - max(samples[fifth : 2 * fifth + 1]))


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Return speeds and memory."""
    rows = [
        [
            f"{r['rows']:,} × {r['dim']} from {r['format']}"
            + (", compiled" if r["loops"] == COMPILED else ""),
            f"{r['megabytes']:,.0f} MB",
            f"{r['rows'] / r['seconds']:,.0f}",
            f"{1e6 * r['cpu_seconds'] / r['rows']:.1f}",
            f"{r['queries']:,}",
            f"{r['loss']:.4f}",
            f"{r['began']:.0f} MB",
            f"{r['peak']:.0f} MB",
            f"{r['growth']:+.0f} MB",
        ]
        for r in results
    ]
    header = ["run", "file", "rows/s", "CPU µs per row", "labels", "mean loss", "before", "peak", "growth"]
    note = "Growth is the increase of the maximum from the second to the last fifth of a run. "
    note += "Numba alone takes about 100 MB."
    return [Table("Runs over files, resident memory", header, rows, note)] if rows else []
