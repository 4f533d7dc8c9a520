"""Speed of blocks decided on a GPU: seconds, share of the speed of GEMM, and speed-up over two cores.

`python -m benchmarks.gpu_alone` measures selected cells and needs few libraries besides torch.
"""

from __future__ import annotations

import copy
import cProfile
import itertools
import math
import pstats
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.gpu_data import Data
from benchmarks.installed import importable
from benchmarks.text import Progress, Table
from qufur import Learner, Paced, QuFUR, Ridge, Steady, Trace, run
from qufur._internal import threads
from qufur.rules import Rule
from qufur.streams import Arrays, Stream

CORES = 2
ROWS = (10**5, 10**6)
DIMS = (768, 4096)
SHARES = (0.01, 0.045, 0.1)
SOURCES = ("card", "host", "npy", "parquet")
RULES = "qufur", "paced", "steady"
TRIES = 5
"""Runs of the search for the α of a share of labels."""


def measure(
    quick: bool,
    progress: Progress,
    rows: Sequence[int] = ROWS,
    dims: Sequence[int] = DIMS,
    shares: Sequence[float] = SHARES,
    sources: Sequence[str] = SOURCES,
    rules: Sequence[str] = RULES[:1],
    device: str | None = None,
    profile: bool = False,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Measure the cells; a failure is recorded and does not stop the others."""
    if not importable("torch"):
        return {"skipped": "torch is not installed"}
    import torch

    if quick:
        rows, dims, shares = (3000,), (40,), (0.05,)
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if where.type == "cpu" and not quick:
        return {"skipped": "there is no GPU"}
    measurements: dict[str, Any] = {
        "device": _name(where),
        "gemm": _gemm(where, 256 if quick else 8192),
        "cells": [],
    }
    _say(f"{measurements['device']}: {measurements['gemm'] / 1e12:.1f} TFLOP/s in matrix products of float64")
    with TemporaryDirectory(dir=folder) as name:
        for count, dim in itertools.product(rows, dims):
            try:
                data = Data(count, dim, where)
                for share, rule in itertools.product(shares, rules):
                    cells = _cells(
                        data, share, rule, sources, where, measurements["gemm"], Path(name), profile
                    )
                    measurements["cells"] += cells
            except Exception:
                _say(f"{count:,} × {dim} failed:\n{traceback.format_exc()}")
            data = None  # type: ignore[assignment]  # free its memory
            if where.type == "cuda":
                torch.cuda.empty_cache()
    return measurements


def _cells(
    data: Data,
    share: float,
    name: str,
    sources: Sequence[str],
    device: Any,
    gemm: float,
    folder: Path,
    profile: bool,
) -> Iterator[dict[str, Any]]:
    """Measure a size, a share of labels and a rule, from all sources."""
    rule = _rule(name, data, share, device)
    cpu = _cpu(data, rule, device)
    for source in sources:
        cell: dict[str, Any] = {"rows": data.rows, "dim": data.dim, "wanted": share, "rule": name}
        cell["source"] = source
        try:
            start = time.perf_counter()
            make = getattr(data, source)
            stream = make() if source in ("card", "host") else make(folder)
            opened = time.perf_counter() - start
            learner = _learner(data.dim, rule, device)
            seconds, trace = _timed(lambda learner=learner, stream=stream: run(learner, stream))
            flops = 2.0 * data.rows * data.dim**2
            cell |= {"seconds": seconds, "opened": opened, "queries": trace.queries}
            cell |= {"share_of_gemm": flops / seconds / gemm, "cpu": cpu}
            cell["faster"] = data.rows / seconds / cpu["rows_per_second"]
            if profile:
                _profile(data, rule, device, stream)
        except Exception as error:
            cell["failed"] = f"{type(error).__name__}: {error}"[:300]
        _say(_line(cell))
        yield cell


def _rule(name: str, data: Data, share: float, device: Any) -> Rule:
    """Return a rule by name; a rule with a budget may buy this share of the examples."""
    if name == "qufur":
        return QuFUR(_alpha(data, share, device))
    return (Paced if name == "paced" else Steady)(round(share * data.rows), data.rows)


def _alpha(data: Data, share: float, device: Any) -> float:
    """Search the α that buys about this share of the labels; the trials also warm up the GPU."""
    labels = share * data.rows
    # After Q labels Δ is about d/(d + Q), and α Δ of the examples are bought.
    low, high, alpha = 0.0, math.inf, share * (1 + labels / (2 * data.dim))
    for _ in range(TRIES):
        learner = _learner(data.dim, QuFUR(alpha), device)
        seconds, trace = _timed(lambda learner=learner: run(learner, data.card()))
        bought = trace.queries / data.rows
        _say(f"  α = {alpha:.4g} buys {bought:.2%} in {seconds:.2f} s")
        if abs(bought / share - 1) < 0.1:
            break
        low, high = (alpha, high) if bought < share else (low, alpha)
        guess = alpha * (share / max(bought, share / 50)) ** 1.3
        alpha = guess if low < guess < high else (low + min(high, 2 * guess)) / 2
    return alpha


def _cpu(data: Data, rule: Rule, device: Any) -> dict[str, Any]:
    """Measure the CPU's engine on the first rows, and on the last rows from the GPU's state at that point.

    The GPU decides the same rows; `equal` and `equal_late` say whether all decisions agree.
    """
    first = last = min(data.rows // 2, max(256, 2**24 // data.dim))
    ahead = data.rows - last
    X, y = data.X[:first].cpu().numpy(), data.y[:first]
    with _two_threads():
        early, cpu = _timed(lambda: run(_learner(data.dim, rule, "cpu"), Arrays(X, y)))
    equal = _equal(cpu, run(_learner(data.dim, rule, device), Arrays(X, y)))
    learner = _learner(data.dim, rule, device)
    run(learner, Arrays(data.X[:ahead], data.y[:ahead]))
    twin = _twin(learner)
    X, y = data.X[ahead:].cpu().numpy(), data.y[ahead:]
    with _two_threads():
        late, cpu = _timed(lambda: run(twin, Arrays(X, y)))
    equal_late = _equal(cpu, run(learner, Arrays(X, y)))
    measurements = {"rows_per_second": last / late, "rows": last, "rows_per_second_at_first": first / early}
    measurements |= {"equal": equal, "equal_late": equal_late}
    _say(f"  the CPU, {CORES} threads, {last} rows: {last / late:.0f} rows/s, {first / early:.0f} at first")
    _say(f"  decisions as the CPU's: {equal} of the first {first}, {equal_late} of the last {last}")
    return measurements


def _twin(learner: Learner) -> Learner:
    """Return a learner on the CPU in the state of another."""
    twin = _learner(learner.model.dim or 0, learner.rule, "cpu")
    gram = learner.state.labelled.copy()  # type: ignore[attr-defined]
    gram.move_to(None)
    twin.state.labelled = twin.state.queried = gram  # type: ignore[attr-defined]
    twin.rng, twin.spending = copy.deepcopy(learner.rng), copy.deepcopy(learner.spending)
    twin.next_id = learner.next_id
    return twin


def _equal(one: Trace, other: Trace) -> bool:
    same = np.array_equal(one.query, other.query)
    near = all(
        np.abs(getattr(one, name) - getattr(other, name)).max() < 1e-9
        for name in ("prediction", "uncertainty")
    )
    return bool(same and near)


def _learner(dim: int, rule: Rule, device: Any) -> Learner:
    return Learner(Ridge(dim, label_range=(-2, 2)), rule, seed=1, device=device)


@contextmanager
def _two_threads() -> Iterator[None]:
    """Allow BLAS as many threads as compared cores; `run` would limit it to one."""
    threads._limit.is_set = True
    try:
        yield
    finally:
        threads._limit.is_set = False


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def _gemm(device: Any, size: int) -> float:
    """Return the flops per second of a large matrix product, the best of four."""
    import torch

    A = torch.randn((size, size), dtype=torch.float64, device=device)
    best = math.inf
    for _ in range(4):
        seconds, _ = _timed(lambda: float((A @ A)[0, 0]))
        best = min(best, seconds)
    return 2.0 * size**3 / best


def _profile(data: Data, rule: Rule, device: Any, stream: Stream) -> None:
    profiler = cProfile.Profile()
    learner = _learner(data.dim, rule, device)
    profiler.runcall(run, learner, stream)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def _name(device: Any) -> str:
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"torch's {device}"


def _say(text: str) -> None:
    print(text, flush=True)


HEADER = "rows × columns", "rule", "labels", "from", "seconds", "of GEMM", f"times {CORES} cores", "decisions"


def _row(cell: dict[str, Any]) -> tuple[str, ...]:
    size = f"{cell['rows']:,} × {cell['dim']}"
    if "failed" in cell:
        return size, cell["rule"], f"{cell['wanted']:.0%}", cell["source"], cell["failed"], "", "", ""
    equal = "as the CPU's" if cell["cpu"]["equal"] and cell["cpu"]["equal_late"] else "DIFFERENT"
    share, faster = f"{cell['share_of_gemm']:.0%}", f"{cell['faster']:.0f}"
    return (
        size,
        cell["rule"],
        f"{cell['queries'] / cell['rows']:.1%}",
        cell["source"],
        f"{cell['seconds']:.2f}",
        share,
        faster,
        equal,
    )


def _line(cell: dict[str, Any]) -> str:
    return "  ".join(_row(cell)) + (f"  (opened in {cell['opened']:.1f} s)" if "opened" in cell else "")


def render(measurements: dict[str, Any]) -> str:
    """Return the table."""
    if "skipped" in measurements:
        return f"GPU: skipped, {measurements['skipped']}\n"
    title = (
        f"{measurements['device']}, {measurements['gemm'] / 1e12:.1f} TFLOP/s in matrix products of float64"
    )
    note = "The share of GEMM counts 2d² flops for each row. The CPU is measured on fewer rows, in rows per "
    note += f"second with {CORES} threads, on the same machine."
    return str(Table(title, HEADER, [_row(cell) for cell in measurements["cells"]], note))
