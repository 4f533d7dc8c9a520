"""Growth of the cost of a step with the dimension d and the length T of the stream."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import limits, loops, workloads
from benchmarks.text import Progress, Table
from benchmarks.timing import SHORTEST, Timing, interleaved
from qufur import Learner, QuFUR, Ridge, run
from qufur.streams import Arrays

DIMS = tuple(2**k for k in range(4, 13))
HORIZON = 1000
DIM = 88
HORIZONS = tuple(250 * 4**k for k in range(6))
RATE = 0.20
ROUNDS = 5
LARGEST = {"NumPy loop": {"dim": 2048, "horizon": 64_000}, "authors' loop": {"dim": 1024, "horizon": 16_000}}
"""Largest sizes of the hand-written loops, which take minutes above."""
FITTED = {"dim": 256, "horizon": 1000}
"""Smallest sizes of the fit: below, call overhead and the first block dominate."""


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Measure the cost of a step at every d and at every T."""
    rounds = 1 if quick else ROUNDS
    dims, horizons = (DIMS[:3], HORIZONS[:2]) if quick else (DIMS, HORIZONS)
    curves: dict[str, list[dict[str, Any]]] = {"dim": [], "horizon": []}
    for dim in dims:
        progress.say(f"growth: d = {dim}")
        data = drawn(dim, 100 if quick else HORIZON)
        after_labels = {"qufur, 2d labels known": _after_labels(data)}
        timings = _replays(data, rounds, "dim", after_labels) | {"GEMM row": limits.of(dim, rounds)["gemm"]}
        curves["dim"].append({"at": dim, "microseconds": _plain(timings)})
    for horizon in horizons:
        progress.say(f"growth: T = {horizon}")
        timings = _replays(drawn(DIM, horizon), rounds, "horizon", {})
        curves["horizon"].append({"at": horizon, "microseconds": _plain(timings)})
    return {
        "dim": DIM,
        "horizon": 100 if quick else HORIZON,
        "rate": RATE,
        "curves": curves,
        "exponents": {axis: _exponents(points, FITTED[axis]) for axis, points in curves.items()},
    }


def drawn(dim: int, horizon: int) -> Arrays:
    """Return unit vectors with noisy linear labels."""
    rng = np.random.default_rng(workloads.SEED)
    X = rng.standard_normal((horizon, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta = rng.standard_normal(dim)
    return Arrays(X, X @ (theta / np.linalg.norm(theta)) + 0.1 * rng.standard_normal(horizon))


def _replays(
    data: Arrays, rounds: int, axis: str, others: dict[str, Callable[[], object]]
) -> dict[str, Timing]:
    alpha = workloads.calibrated(data, RATE)
    size = getattr(data, axis)
    variants: dict[str, Callable[[], object]] = {"qufur": lambda: workloads.play(data, alpha)} | others
    by_hand = {"NumPy loop": loops.plain_numpy, "authors' loop": loops.authors_loop}
    for name, loop in by_hand.items():
        if size <= LARGEST[name][axis]:
            variants[name] = lambda loop=loop: loop(data, alpha)
    slow = {name: 1 for name in by_hand if size > LARGEST[name][axis] // 8}
    return interleaved(variants, data.horizon, rounds, slow, shortest=SHORTEST)


def _after_labels(data: Arrays) -> Callable[[], object]:
    """Return a replay by a learner that starts with 2d labels."""
    before = drawn(data.dim, 2 * data.dim)
    learner = Learner(Ridge(data.dim), QuFUR(1.0))
    learner.learn(before.X, before.y)
    alpha = RATE / learner.uncertainty(data.X).mean()
    learner = Learner(Ridge(data.dim), QuFUR(alpha), seed=workloads.SEED)
    learner.learn(before.X, before.y)
    return lambda: run(copy.deepcopy(learner), data)


def _plain(timings: dict[str, Timing]) -> dict[str, Any]:
    return {name: asdict(timing) for name, timing in timings.items()}


def _exponents(points: Sequence[dict[str, Any]], start: int) -> dict[str, float]:
    """Return the slope in double logarithms of every curve with at least three points to fit."""
    exponents = {}
    for name in points[0]["microseconds"]:
        fitted = [p for p in points if p["at"] >= start and name in p["microseconds"]]
        if len(fitted) >= 3:
            cost = [p["microseconds"][name]["median"] for p in fitted]
            exponents[name] = float(np.polyfit(np.log([p["at"] for p in fitted]), np.log(cost), 1)[0])
    return exponents


def tables(results: dict[str, Any]) -> list[Table]:
    """Return a table against d and one against T, with exponents in the last row."""
    d, T, rate = results["dim"], results["horizon"], results["rate"]
    titles = {
        "dim": f"Cost of a step against d, T = {T}, {rate:.0%} of labels, CPU microseconds",
        "horizon": f"Cost of a step against T, d = {d}, {rate:.0%} of labels, CPU microseconds",
    }
    return [_table(titles[axis], axis, results) for axis in titles]


def _table(title: str, axis: str, results: dict[str, Any]) -> Table:
    points, exponents = results["curves"][axis], results["exponents"][axis]
    names = list(points[0]["microseconds"])
    rows = []
    for point in points:
        timings = {name: str(Timing(**timing)) for name, timing in point["microseconds"].items()}
        rows.append([f"{'d' if axis == 'dim' else 'T'} = {point['at']}"])
        rows[-1] += [timings.get(name, "-") for name in names]
    rows.append(["exponent", *(f"{exponents[name]:.2f}" if name in exponents else "-" for name in names)])
    return Table(
        title, ["growth", *names], rows, f"Exponents are fitted to sizes of at least {FITTED[axis]}."
    )
