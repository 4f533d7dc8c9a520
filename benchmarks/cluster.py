"""Speed of `qufur.cluster.ask` on a local Ray with two workers, against `qufur.run` on the same files."""

from __future__ import annotations

import logging
import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import cluster_rows
from benchmarks.cluster_rows import FIRST, ask_first
from benchmarks.installed import importable
from benchmarks.large import Drawn
from benchmarks.text import Progress, Table
from qufur import run, streams
from qufur.cluster.decider import Decider
from qufur.workbook import Workbook

ROWS, DIM, FILES, BUDGET = 10**6, 88, 10, 5000
WORKERS = 2
TARGET = 0.5
"""Required share of `run`'s rows per second: two cores read, encode, transfer and decide."""
MEMORY = "QUFUR_BENCHMARK_MEMORY"


class Watched(Decider):
    """Actor that records its decided rows, memory in MB and CPU seconds."""

    def take(self, first: int, block: Any) -> Any:
        answers = super().take(first, block)
        status = Path("/proc/self/status").read_text().split("RssAnon:")[1]
        with open(os.environ[MEMORY], "a") as file:
            file.write(f"{self._done} {int(status.split()[0]) / 1e3} {time.process_time()}\n")
        return answers


def measure(rows: int, progress: Progress) -> dict[str, Any]:
    """Decide the same rows with and without a cluster."""
    if not all(map(importable, ("ray", "pyarrow", "polars", "typer"))):
        return {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        progress.say("cluster: writing rows")
        _write(folder, rows)
        _start(folder, rows)
        progress.say("cluster: run")
        begin, busy = time.perf_counter(), time.process_time()
        expected = _run(folder)
        alone, busy = time.perf_counter() - begin, time.process_time() - busy
        progress.say("cluster: ask")
        together, queried, timeline = _ask(folder)
        progress.say("cluster: cost of rows")
        sizes = cluster_rows.measure(folder, min(rows, cluster_rows.ROWS))
    marks = [next(mb for done, mb, _ in timeline if done >= share * rows) for share in (0.1, 0.5)]
    (first, _, begun), (last, _, ended) = timeline[0], timeline[-1]
    return {
        "rows": rows,
        "run": rows / alone,
        "cluster": rows / together,
        "run_cpu": 1e6 * busy / rows,
        "actor_cpu": 1e6 * (ended - begun) / (last - first),
        "same": bool(np.array_equal(expected, queried)),
        "queries": int(queried.sum()),
        "memory": [*marks, timeline[-1][1]],
        "sizes": sizes,
    }


def _write(folder: Path, rows: int) -> None:
    import polars as pl

    (folder / "rows").mkdir()
    chunks, size = Drawn(rows, DIM).chunks(2**13), -(-rows // FILES)
    X = np.empty((0, DIM))
    for file in range(FILES):
        while len(X) < min(size, rows - file * size):
            X = np.concatenate([X, next(chunks).X])
        part, X = X[:size], X[size:]
        columns = {f"x{j}": part[:, j] for j in range(DIM)}
        pl.DataFrame(columns).write_parquet(folder / "rows" / f"part{file}.parquet", row_group_size=2**16)


def _start(folder: Path, rows: int) -> None:
    """Create the state file from rows of the same distribution."""
    import polars as pl

    X = np.random.default_rng(0).normal(size=(FIRST, DIM)) / np.sqrt(DIM)
    pl.DataFrame({f"x{j}": X[:, j] for j in range(DIM)}).write_parquet(folder / "first.parquet")
    ask_first(folder, BUDGET, rows)


def _run(folder: Path) -> Any:
    workbook = Workbook.load(folder / "state.qufur")
    return run(workbook.learner, streams.Table(folder / "rows", None, encoding=workbook.encoding)).query


def _ask(folder: Path) -> tuple[float, Any, list[tuple[int, float, float]]]:
    """Return the seconds, the queried rows and the records of the actor."""
    import ray
    import ray.data

    from qufur.cluster import job

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    log = folder / "memory"
    env = {"env_vars": {MEMORY: str(log), "OMP_NUM_THREADS": "1"}}
    quiet = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
    ray.init("local", num_cpus=WORKERS + 1, object_store_memory=2**30, runtime_env=env, **quiet)
    job.Decider = Watched
    try:
        # Start the cluster's processes and their imports before the clock starts.
        warm = shutil.copy(folder / "state.qufur", folder / "warm.qufur")
        job.ask(folder / "rows" / "part0.parquet", warm, folder / "warm", workers=WORKERS)
        log.unlink()
        begin = time.perf_counter()
        results = job.ask(folder / "rows", folder / "state.qufur", folder / "out", workers=WORKERS)
        seconds = time.perf_counter() - begin
        query = np.concatenate([batch["query"] for batch in results.iter_batches()])
    finally:
        job.Decider = Decider
        ray.shutdown()
    lines = [line.split() for line in log.read_text().splitlines()]
    return seconds, query, [(int(done), float(mb), float(cpu)) for done, mb, cpu in lines]


def tables(measurements: dict[str, Any]) -> list[Table]:
    """Return a table of speeds and of costs per row."""
    if not measurements:
        return []
    row = [
        f"{measurements['rows']:,}",
        f"{measurements['run']:,.0f}",
        f"{measurements['cluster']:,.0f}",
        f"{measurements['cluster'] / measurements['run']:.2f}",
        f"{measurements['run_cpu']:.1f}, {measurements['actor_cpu']:.1f}",
        " → ".join(f"{mb:.0f}" for mb in measurements["memory"]),
        f"{measurements['queries']:,}, {'the same' if measurements['same'] else 'NOT the same'}",
    ]
    header = ["rows", "`run`, rows/s", "cluster, rows/s", "ratio", "CPU µs a row: run, actor"]
    header += ["actor MB at 10, 50, 100 %", "queries"]
    title = f"Parquet files of {DIM} numbers a row, on a local Ray with {WORKERS} workers"
    speed = Table(title, header, [row], f"The target is a ratio of {TARGET:g}, on two cores in total.")
    return [speed, cluster_rows.table(measurements["sizes"])]
