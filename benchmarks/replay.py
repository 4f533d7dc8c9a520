"""Replay speed: `qufur.run` against the same replay written out by hand, and against the limits of BLAS."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import limits, loops, single, workloads
from benchmarks.text import Progress, table
from benchmarks.timing import Timing, interleaved
from qufur.streams import Arrays

DIMS = (16, 88, 768)
ROUNDS = 7
ROUNDS_OF_SLOW_LOOP = 3
TARGETS = {(88, 0.02): 15, (88, 0.20): 20, (88, 0.60): 40, (768, 0.02): 40, (768, 0.20): 30, (768, 0.60): 30}
"""How many times faster than the authors' loop a replay must be, with NumPy and SciPy only."""
SHARE_TARGET = 0.65
ASK_TARGETS = {768: 1.3}
PAIRS = {"ask": "dsymv", "ask+tell": "dsymv+dsyr"}


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Measure everything."""
    replays, bounds = [], {}
    for dim in DIMS:
        data = workloads.stream(dim, quick)
        bounds[dim] = limits.measure(dim, 1 if quick else ROUNDS)
        for rate in workloads.RATES:
            progress.say(f"replay: d = {dim}, query rate {rate:.0%}")
            replays.append(_replay(data, rate, bounds[dim], quick))
    progress.say("replay: one ask, one tell")
    singles = [_single(dim, quick) for dim in (88, 768)]
    return {"replay": replays, "single": singles}


def compare(data: Arrays, alpha: float) -> int:
    """Assert that all three variants make the same queries and predictions; return the number of queries."""
    trace = workloads.play(data, alpha)
    for loop in (loops.plain_numpy, loops.authors_loop):
        query, prediction = loop(data, alpha)
        if not np.array_equal(query, trace.query):
            first = np.argmax(query != trace.query)
            raise AssertionError(f"{loop.__name__} and qufur.run differ in a query, first at row {first}")
        np.testing.assert_allclose(prediction, trace.prediction, rtol=0, atol=1e-9)
    return trace.queries


def _replay(data: Arrays, rate: float, bounds: dict[str, Timing], quick: bool) -> dict[str, Any]:
    alpha = workloads.calibrated(data, rate)
    queries = compare(data, alpha)
    variants = {
        "qufur": lambda: workloads.play(data, alpha),
        "numpy": lambda: loops.plain_numpy(data, alpha),
        "authors": lambda: loops.authors_loop(data, alpha),
    }
    slow = {"authors": ROUNDS_OF_SLOW_LOOP} if data.dim > 500 else {}
    timings = interleaved(variants, data.horizon, 1 if quick else ROUNDS, slow) | bounds
    cost = {name: timing.median for name, timing in timings.items()}
    # A step is counted as (2 + rate) d² flops; with few queries it needs fewer, so the share can exceed 1.
    share = (2 + queries / data.horizon) / 2 * cost["gemm"] / cost["qufur"]
    return {
        "dim": data.dim,
        "horizon": data.horizon,
        "rate": rate,
        "alpha": alpha,
        "queries": queries,
        "microseconds": {name: asdict(timing) for name, timing in timings.items()},
        "faster_than_numpy": cost["numpy"] / cost["qufur"],
        "faster_than_authors": cost["authors"] / cost["qufur"],
        "target": TARGETS.get((data.dim, rate)),
        "share_of_gemm": share,
        "gigaflops": limits.gigaflops(bounds["gemm"], data.dim),
    }


def _single(dim: int, quick: bool) -> dict[str, Any]:
    timings = single.measure(dim, 20 if quick else 1000, 1 if quick else ROUNDS)
    return {
        "dim": dim,
        "microseconds": {name: asdict(timing) for name, timing in timings.items()},
        "ratio": {work: timings[work].median / timings[bare].median for work, bare in PAIRS.items()},
        "target": ASK_TARGETS.get(dim),
    }


def render(results: dict[str, Any]) -> str:
    """Return the tables."""
    return "\n\n".join([_render_replays(results["replay"]), _render_singles(results["single"])]) + "\n"


def _render_replays(replays: list[dict[str, Any]]) -> str:
    header = ["replay", "queries", "qufur", "NumPy loop", "authors' loop", "GEMM row", "dsymv"]
    header += ["vs NumPy", "vs authors", "to hold", "", "of GEMM"]
    rows = []
    for r in replays:
        cost = {name: str(Timing(**timing)) for name, timing in r["microseconds"].items()}
        rows.append(
            [
                f"d = {r['dim']}, T = {r['horizon']}, {r['rate']:.0%}",
                str(r["queries"]),
                *(cost[name] for name in ("qufur", "numpy", "authors", "gemm", "dsymv")),
                f"{r['faster_than_numpy']:.1f}x",
                f"{r['faster_than_authors']:.1f}x",
                "-" if r["target"] is None else f">= {r['target']}x",
                _verdict(r["target"] is None or r["faster_than_authors"] >= r["target"], r["target"]),
                f"{r['share_of_gemm']:.0%}",
            ]
        )
    last = replays[-1]
    share = last["share_of_gemm"]
    return (
        "Replay, CPU microseconds per step, one BLAS thread: median of the rounds ± half the quartile range\n"
        + table(header, rows)
        + f"\nGEMM at d = {last['dim']}: {last['gigaflops']:.0f} GFLOP/s. A step at {last['rate']:.0%}, "
        + f"counted as (2 + rate) d² flops, reaches {share:.0%} of it; to hold >= {SHARE_TARGET:.0%}: "
        + _verdict(share >= SHARE_TARGET, SHARE_TARGET)
    )


def _render_singles(singles: list[dict[str, Any]]) -> str:
    rows = []
    for s in singles:
        cost = {name: str(Timing(**timing)) for name, timing in s["microseconds"].items()}
        target = s["target"]
        for work, bare in PAIRS.items():
            ratio = s["ratio"][work]
            allowed = "-" if target is None else f"<= {target}x"
            met = _verdict(target is None or ratio <= target, target)
            name = f"d = {s['dim']}, {work}"
            rows.append([name, cost[work], bare, cost[bare], f"{ratio:.2f}x", allowed, met])
    header = ["one example", "qufur", "bare calls", "cost", "ratio", "to hold", ""]
    return "One example at a time, nothing outstanding, CPU microseconds\n" + table(header, rows)


def _verdict(met: bool, target: float | None) -> str:
    return "" if target is None else "reached" if met else "short"
