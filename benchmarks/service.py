"""Durable service under load, client and server on one machine: examples/s, latency, memory."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.installed import importable
from benchmarks.load import Load, send
from benchmarks.text import Progress, Table

DIM = 88
CLIENTS = 64
BATCH = 64
SHARE = "5%"
MODELS = {"Ridge": {"model": "ridge", "label_range": [-20, 20]}, "Experts": {"model": "experts"}}
TARGET = {"single": 4_000, "batches": 30_000, "p99": 20.0}
"""Required examples per second with Ridge, single and in batches, and milliseconds at half of that load."""


class Case(NamedTuple):
    """Load pattern: examples per request, request format and total number."""

    name: str
    batch: int
    binary: bool
    examples: int


CASES = [
    Case("single", 1, False, 40_000),
    Case("batches", BATCH, False, 150_000),
    Case("batches, float32", BATCH, True, 150_000),
]


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Send examples in each format to a stream of each model, and tell every queried label."""
    if not all(map(importable, ("starlette", "uvicorn", "msgspec", "sqlalchemy"))):
        return []
    measurements = []
    for model in MODELS:
        for case in CASES:
            clients = 4 if quick else CLIENTS
            size = 10 * clients * case.batch if quick else case.examples // (1 if model == "Ridge" else 4)
            progress.say(f"service: {model}, {case.name}")
            measurements.append(_case(model, case, size, clients))
    return measurements


def _case(model: str, case: Case, examples: int, clients: int) -> dict[str, Any]:
    X = np.random.default_rng(5).standard_normal((examples, DIM))
    X /= np.sqrt(DIM)
    y = X @ np.random.default_rng(6).standard_normal(DIM)
    with TemporaryDirectory() as folder, serving(Path(folder)) as (port, process):
        body = {"name": "load", "dim": DIM, "budget": SHARE, **MODELS[model]}
        load = Load(port, "load", X, y, case.batch, case.binary)
        asyncio.run(send(load, body, clients, warm=True))
        before = _cpu_seconds(process.pid)
        full = asyncio.run(send(load, None, clients, share=0.5))
        memory, cpu = _memory(process.pid), _cpu_seconds(process.pid) - before
        half = asyncio.run(send(load, None, clients, share=0.3, rate=full.rate / 2))
        return {
            "model": model,
            "case": case.name,
            "examples": examples,
            "rate": full.rate,
            "told": full.labels + half.labels,
            "p50": float(np.quantile(half.milliseconds, 0.5)),
            "p99": float(np.quantile(half.milliseconds, 0.99)),
            "server_us": cpu / full.sent * 1e6,
            "megabytes": memory,
            "megabytes_end": _memory(process.pid),
            "in_process": _in_process(model, X[: examples // 4], y, case.batch),
        }


def _in_process(model: str, X: np.ndarray[Any, Any], y: np.ndarray[Any, Any], batch: int) -> float:
    """Return the examples per second of the same loop without a service."""
    from qufur.service.config import StreamConfig

    workbook = StreamConfig(name="load", dim=DIM, budget=SHARE, **MODELS[model]).workbook()
    learner, start = workbook.learner, time.perf_counter()
    for first in range(0, len(X), batch):
        answers = learner.ask_many(X[first : first + batch])
        ids = [id for id, query in zip(answers.id, answers.query.tolist(), strict=True) if query]
        if ids:
            learner.tell_many(ids, y[ids])
    return len(X) / (time.perf_counter() - start)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start `qufur serve` on a free port, wait until it is warm, and end it."""
    command = [
        sys.executable,
        "-m",
        "qufur",
        "serve",
        "--store",
        f"sqlite:///{folder}/labels.db",
        "--port",
        "0",
    ]
    log = folder / "log"
    with (
        log.open("wb") as lines,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=lines, text=True) as process,
    ):
        try:
            port = _port(process)
            while b'"event":"warm"' not in log.read_bytes():
                time.sleep(0.1)
            yield port, process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(10)


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        match = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if match:
            return int(match[1])
    raise RuntimeError("the server did not start")


def _memory(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def _cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def render(measurements: list[dict[str, Any]]) -> str:
    """Return a table."""
    rows = [
        [
            m["model"],
            m["case"],
            f"{m['rate']:,.0f}",
            f"{m['rate'] / m['in_process']:.2f}",
            f"{m['server_us']:.0f}",
            f"{m['p50']:.1f}",
            f"{m['p99']:.1f}",
            f"{m['megabytes']:.0f} → {m['megabytes_end']:.0f}",
        ]
        for m in measurements
    ]
    header = ["model", "examples", "per second", "÷ in process", "server CPU µs", "p50 ms", "p99 ms", "MB"]
    return str(
        Table("The service, durable, 64 clients, d = 88, 5 % of labels; latency at half load", header, rows)
    )


if __name__ == "__main__":
    print(json.dumps(measure("--quick" in sys.argv, Progress()), indent=1))
