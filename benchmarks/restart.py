"""Service with a long event log: memory while it grows, and start time of a server."""

from __future__ import annotations

import os
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.installed import importable
from benchmarks.service import DIM, MODELS, SHARE, serving
from benchmarks.text import Progress, Table

EVENTS = 10**6
TOGETHER = 256
"""Examples per transaction, one event each."""
TARGET = 5.0
"""Largest number of seconds to start."""


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Fill a store with Ridge, one event for each example, and start a server on it."""
    if not all(map(importable, ("starlette", "uvicorn", "msgspec", "sqlalchemy"))):
        return {}
    events, starts = (600, 1) if quick else (EVENTS, 3)
    with TemporaryDirectory() as folder:
        memory = _fill(Path(folder), events, progress)
        progress.say("restart: starting")
        seconds = [_start(Path(folder)) for _ in range(starts)]
        size = (Path(folder) / "labels.db").stat().st_size / 1e6
    return {"events": events, "memory": memory, "seconds": seconds, "store_megabytes": size}


def _fill(folder: Path, events: int, progress: Progress) -> list[float]:
    """Return the resident memory in MB at each tenth; the process exits without a final snapshot."""
    from qufur.service.config import StreamConfig
    from qufur.service.examples import numbered
    from qufur.service.service import Service
    from qufur.service.store import Store

    store = Store(f"sqlite:///{folder}/labels.db")
    service, rng = Service(store), np.random.default_rng(5)
    service.create(StreamConfig(name="load", dim=DIM, budget=SHARE, **MODELS["Ridge"]), "load")
    truth, memory, done = rng.standard_normal(DIM), [], 1
    while done < events:
        X = rng.standard_normal((TOGETHER, DIM)) / np.sqrt(DIM)
        before = done
        for row in X:
            (answer,) = service.ask("load", numbered([str(done)], row[None]), "load")
            done += 1
            if answer.query:
                service.tell(
                    "load", {answer.id: float(row @ truth)}, "load", replace=False, accept_outliers=False
                )
                done += 1
        service.commit()
        service.save_snapshots()
        if 10 * before // events < 10 * done // events:
            memory.append(_resident())
            progress.say(f"restart: {done:,} events")
    store.close()
    return memory


def _start(folder: Path) -> float:
    """Return the seconds until a server is ready."""
    begin = time.perf_counter()
    with serving(folder) as (port, _):
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30).close()
            except OSError:
                time.sleep(0.01)
            else:
                return time.perf_counter() - begin


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def render(measurements: dict[str, Any]) -> str:
    """Return a table."""
    if not measurements:
        return ""
    memory = measurements["memory"]
    row = [
        f"{measurements['events']:,}",
        f"{measurements['store_megabytes']:,.0f}",
        f"{memory[0]:.0f} → {memory[-1]:.0f}",
        f"{measurements['seconds'][0]:.1f}",
        ", ".join(f"{seconds:.1f}" for seconds in measurements["seconds"][1:]),
    ]
    header = ["events", "store MB", "memory MB, first and last tenth", "first start s", "later starts s"]
    return str(Table(f"A server on a long log, Ridge, d = 88; target: ready in {TARGET:g} s", header, [row]))
