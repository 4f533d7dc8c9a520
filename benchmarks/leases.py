"""Latency of leasing rows, by the requests that filled the stream, and of another stream meanwhile."""

from __future__ import annotations

import json
import statistics
import threading
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.installed import importable
from benchmarks.service import serving
from benchmarks.text import Progress, Table

ROWS = 10_000
TOGETHER = (100, 1_000, 10_000)
"""Numbers of rows per request that fills a stream."""
COUNT, ANNOTATORS = 100, 20
TARGET = 50.0
"""Required milliseconds to lease 100 rows."""
STREAM = {"dim": 4, "budget": "100%", "rule": "uniform", "model": "ridge", "label_range": [0, 1]}


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Lease 100 rows each from streams that were filled by requests of different sizes."""
    if not all(map(importable, ("starlette", "uvicorn", "msgspec", "sqlalchemy"))):
        return []
    rows, annotators = (200, 1) if quick else (ROWS, ANNOTATORS)
    with TemporaryDirectory() as folder, serving(Path(folder)) as (port, _):
        _send(port, "", {"name": "other", **STREAM})
        measurements = []
        for together in (size for size in TOGETHER if size <= rows):
            progress.say(f"leases: {together} rows a request")
            measurements.append(_case(port, rows, together, annotators))
    return measurements


def _case(port: int, rows: int, together: int, annotators: int) -> dict[str, Any]:
    name = f"rows-{together}"
    _send(port, "", {"name": name, **STREAM})
    for start in range(0, rows, together):
        body = [{"id": f"r{row}", "x": [row / rows, 1, 2, 3]} for row in range(start, start + together)]
        _send(port, f"/{name}/examples", body)

    def lease(person: str) -> float:
        return _send(port, f"/{name}/queue/lease", {"person": person, "count": COUNT})

    alone = [lease(f"p{person}") for person in range(annotators)]
    beside = []
    for person in range(annotators):
        thread = threading.Thread(target=lease, args=(f"q{person}",))
        thread.start()
        beside.append(_send(port, "/other/examples", {"id": f"{together}-{person}", "x": [1, 2, 3, 4]}))
        thread.join()
    return {"together": together, "lease_ms": statistics.median(alone), "other_ms": statistics.median(beside)}


def _send(port: int, path: str, body: Any) -> float:
    """Return the milliseconds of a request."""
    url, content = f"http://127.0.0.1:{port}/v1/streams{path}", json.dumps(body).encode()
    start = time.perf_counter()
    with urllib.request.urlopen(urllib.request.Request(url, content), timeout=600) as answer:
        answer.read()
    return 1e3 * (time.perf_counter() - start)


def render(measurements: list[dict[str, Any]]) -> str:
    """Return a table."""
    rows = [[f"{m['together']:,}", f"{m['lease_ms']:.0f}", f"{m['other_ms']:.0f}"] for m in measurements]
    header = ["rows per request", f"{COUNT} rows leased, ms", "an example of another stream meanwhile, ms"]
    return str(Table(f"Leases, d = 4; target: {TARGET:g} ms", header, rows))
