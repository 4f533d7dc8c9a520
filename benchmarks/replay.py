"""Replay speed of `qufur.run`, against hand-written loops and the limits of BLAS."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import compiled, limits, loops, workloads
from benchmarks.text import Progress, Table
from benchmarks.timing import SHORTEST, Timing, interleaved
from qufur.streams import Arrays
from qufur.trace import Trace

DIMS = (16, 88, 768, 4096)
LARGEST_COMPILED = 88
TITLE = "Replay, CPU microseconds per step on one BLAS thread: median ± half the quartile range"
ROUNDS = 7
ROUNDS_OF_SLOW_LOOPS = {768: {"authors": 3}, 4096: {"authors": 1, "numpy": 1}}


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Measure every stream at every query rate."""
    replays = []
    for dim in DIMS:
        data = workloads.stream(dim, quick)
        bounds = limits.of(dim, 1 if quick else ROUNDS)
        for rate in workloads.RATES:
            progress.say(f"replay: d = {dim}, query rate {rate:.0%}")
            replays.append(_replay(data, rate, bounds, quick))
    return replays


def compare(returned: dict[str, Any]) -> None:
    """Assert that all variants make the same queries and predictions as `qufur.run`."""
    trace = returned["qufur"]
    for name, other in returned.items():
        query, prediction = (other.query, other.prediction) if isinstance(other, Trace) else other
        if not np.array_equal(query, trace.query):
            first = np.argmax(query != trace.query)
            raise AssertionError(f"{name} and qufur differ in a query, first at row {first}")
        np.testing.assert_allclose(prediction, trace.prediction, rtol=0, atol=1e-9)


def _replay(data: Arrays, rate: float, bounds: dict[str, Timing], quick: bool) -> dict[str, Any]:
    alpha = workloads.calibrated(data, rate)
    variants = {
        "qufur": lambda: workloads.play(data, alpha),
        "numpy": lambda: loops.plain_numpy(data, alpha),
        "authors": lambda: loops.authors_loop(data, alpha),
    }
    if data.dim <= LARGEST_COMPILED and compiled.missing() is None:
        variants["compiled"] = lambda: workloads.play(data, alpha, use_compiled=True)
        variants["compiled"]()  # compiles it
    slow = ROUNDS_OF_SLOW_LOOPS.get(data.dim)
    timings = interleaved(variants, data.horizon, 1 if quick else ROUNDS, slow, compare, SHORTEST)
    cost = {name: timing.median for name, timing in timings.items()}
    queries = workloads.play(data, alpha).queries
    # A step is counted as (2 + rate) d² flops; with few queries it needs fewer, so the share can exceed 1.
    share = (2 + queries / data.horizon) / 2 * bounds["gemm"].median / cost["qufur"]
    return {
        "dim": data.dim,
        "horizon": data.horizon,
        "rate": rate,
        "alpha": alpha,
        "queries": queries,
        "microseconds": {name: asdict(timing) for name, timing in (timings | bounds).items()},
        "faster_than_authors": {
            name: cost["authors"] / cost[name] for name in ("qufur", "compiled") if name in cost
        },
        "no_compiled": compiled.missing(),
        "share_of_gemm": share,
        "gigaflops": limits.gigaflops(bounds["gemm"], data.dim),
    }


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Return costs and ratios."""
    header = ["replay", "queries", "qufur", "compiled", "NumPy loop", "authors' loop", "GEMM row", "dsymv"]
    header += ["vs authors", "of GEMM"]
    rows = []
    for r in results:
        cost = {name: str(Timing(**timing)) for name, timing in r["microseconds"].items()}
        variants = ("qufur", "compiled", "numpy", "authors", "gemm", "dsymv")
        rows.append(
            [
                f"d = {r['dim']}, T = {r['horizon']}, {r['rate']:.0%}",
                str(r["queries"]),
                *(cost.get(name, "-") for name in variants),
                " / ".join(f"{faster:.0f}×" for faster in r["faster_than_authors"].values()),
                f"{r['share_of_gemm']:.0%}",
            ]
        )
    note = "A step is counted as (2 + rate) d² flops; with few labels it needs fewer."
    if why := results[0]["no_compiled"]:
        note += f" The compiled column is empty: {why}."
    return [Table(TITLE, header, rows, note)]
