"""Run over a file and print time and memory as JSON.

It runs in a separate process, so that the process's memory is that of the run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import compiled
from qufur import Learner, QuFUR, Ridge, run
from qufur.streams import Chunk, Stream, Table

MEGABYTE = 2**20
ALPHA = 1.0
SEED = 7


class Watched(Stream):
    """Stream that records the memory of the process after every chunk."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.dim, self.horizon = stream, stream.dim, stream.horizon
        self.samples: list[tuple[int, float, float]] = []

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield the chunks of the stream."""
        rows, start = 0, time.perf_counter()
        for chunk in self._stream.chunks(size):
            yield chunk
            rows += len(chunk)
            self.samples.append((rows, time.perf_counter() - start, resident()))


def resident() -> float:
    """Return the resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def highest() -> float:
    """Return the peak resident memory; `ru_maxrss` would include the parent process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main(path: str, target: str, loops: str) -> None:
    with compiled.switched(loops == "compiled"):
        print(json.dumps(measure(path, target)))


def measure(path: str, target: str) -> dict[str, Any]:
    """Run over the file."""
    began = resident()
    stream = Watched(Table(path, target))
    learner = Learner(Ridge(stream.dim), QuFUR(ALPHA), seed=SEED)
    wall, cpu = time.perf_counter(), time.process_time()
    trace = run(learner, stream, out=f"{path}.trace.npy")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = highest()
    totals = trace.totals
    return {
        "rows": len(trace),
        "dim": stream.dim,
        "seconds": wall,
        "cpu_seconds": cpu,
        "queries": totals.queries,
        "loss": totals.loss / len(trace),
        "began": began,
        "peak": peak,
        "after_totals": resident(),
        "samples": stream.samples[:: max(1, len(stream.samples) // 250)],
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
