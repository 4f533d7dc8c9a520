"""Wall-clock time of a sweep in two processes, against the authors' loop in one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib.externals.loky import get_reusable_executor

from benchmarks import loops, workloads
from benchmarks.text import Progress, Table
from qufur import QuFUR, Ridge
from qufur.streams import Arrays
from qufur.sweep.grid import sweep

ALPHAS = tuple(float(alpha) for alpha in np.geomspace(0.03, 3.0, 10))
"""Values of α that buy from 3 to 85 % of the labels."""
SEEDS = 5
JOBS = 2
ROUNDS = 5
TARGET = 60
"""Required speed-up over the authors' loop, including process start and imports."""


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Time the sweep with new processes, with reused ones and without any, and then the loop."""
    alphas, rounds = (ALPHAS[::5], 1) if quick else (ALPHAS, ROUNDS)
    data = workloads.stream(768, quick)
    seconds: dict[str, list[float]] = {"fresh": [], "kept": [], "serial": []}
    cpu = []
    for done in range(rounds):
        progress.say(f"sweep: round {done + 1} of {rounds}")
        get_reusable_executor().shutdown(wait=True)
        for name, jobs in (("fresh", JOBS), ("kept", JOBS), ("serial", 1)):
            wall, busy = _timed(lambda jobs=jobs: _sweep(data, alphas, jobs))
            seconds[name].append(wall)
        cpu.append(busy)
    progress.say("sweep: authors' loop on one seed")
    # The loop takes equally long on every seed: the others would take 90 s more and show the same.
    wall, busy = _timed(lambda: [loops.authors_loop(data, alpha) for alpha in alphas])
    cost = {name: float(np.median(taken)) for name, taken in seconds.items()} | {"authors": SEEDS * wall}
    return {
        "dim": data.dim,
        "horizon": data.horizon,
        "cells": len(alphas) * SEEDS,
        "jobs": JOBS,
        "rounds": rounds,
        "seconds": cost,
        "best": {name: min(taken) for name, taken in seconds.items()},
        "cpu_seconds": {"serial": float(np.median(cpu)), "authors": SEEDS * busy},
        "faster_than_authors": {name: cost["authors"] / cost[name] for name in seconds},
        "target": TARGET,
    }


def _sweep(data: Arrays, alphas: tuple[float, ...], jobs: int) -> None:
    rows = sweep(
        lambda seed: data,
        lambda stream: Ridge(stream.dim),
        {"QuFUR": (lambda alpha, stream: QuFUR(alpha), alphas)},
        seeds=range(SEEDS),
        jobs=jobs,
    )
    if len(rows) != len(alphas) * SEEDS:
        raise AssertionError(f"{len(rows)} rows for {len(alphas) * SEEDS} runs")


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall-clock seconds, and the CPU seconds of this process."""
    wall, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - busy


def tables(r: dict[str, Any]) -> list[Table]:
    """Return seconds and ratios."""
    names = {
        "fresh": f"{r['jobs']} new processes",
        "kept": f"{r['jobs']} running processes",
        "serial": "one process",
    }
    rows = [
        [
            title,
            f"{r['seconds'][name]:.2f}",
            f"{r['best'][name]:.2f}",
            f"{r['faster_than_authors'][name]:.0f}x",
        ]
        for name, title in names.items()
    ]
    rows.append(["authors' loop, one process", f"{r['seconds']['authors']:.1f}", "", ""])
    title = f"Sweep of {r['cells']} runs, d = {r['dim']}, T = {r['horizon']}, wall-clock time"
    ours, theirs = r["cpu_seconds"]["serial"], r["cpu_seconds"]["authors"]
    note = (
        f"Median and best of {r['rounds']}. CPU seconds in one process, which do not depend on other load: "
    )
    note += f"{ours:.2f} and {theirs:.1f}, {theirs / ours:.0f}x."
    return [Table(title, ["sweep", "seconds", "best", "vs authors"], rows, note)]
