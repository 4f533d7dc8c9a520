"""Cost of a step of kernel regression against the number of labels: quadratic, not cubic."""

from __future__ import annotations

import copy
import time
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from benchmarks.text import Progress, table
from benchmarks.timing import Timing
from qufur import KernelRidge, Learner, QuFUR
from qufur.arrays import Floats

DIM = 50
LADDER = (125, 250, 500, 1000, 2000)
FITTED = 500
"""Smallest number of labels of the fit: below, call overhead dominates."""
STEPS = 16
ROUNDS = 9
LARGEST_EXPONENT = 2.3
"""Limit above 2: beyond a few hundred labels the factor exceeds the caches."""
ALPHA = {"ask": 1e-15, "ask+tell": 1e15}
"""Rules that never and always buy."""


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Time both types of step at every number of labels, interleaved, and fit exponents per round."""
    ladder = LADDER[:-1] if quick else LADDER
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((max(ladder) + STEPS, DIM)), rng.standard_normal(max(ladder) + STEPS)
    variants = {(work, labels): _learner(X, y, labels, work) for work in ALPHA for labels in ladder}
    seconds: dict[tuple[str, int], list[float]] = {variant: [] for variant in variants}
    for done in range(3 if quick else ROUNDS):
        progress.say(f"kernel: round {done + 1}")
        for variant, learner in variants.items():
            seconds[variant].append(_time(copy.deepcopy(learner), X[-STEPS:], y[-STEPS:]))
    fitted = [labels for labels in ladder if labels >= FITTED]
    return {
        "dim": DIM,
        "ladder": list(ladder),
        "fitted": fitted,
        "microseconds": {
            work: [asdict(Timing.of(seconds[work, labels], STEPS)) for labels in ladder] for work in ALPHA
        },
        "exponent": {
            work: _exponents(fitted, np.array([seconds[work, labels] for labels in fitted])) for work in ALPHA
        },
    }


def _learner(X: Floats, y: Floats, labels: int, work: str) -> Learner:
    # Unit variance in 50 dimensions: distances are near 10, and a kernel of length 10 is neither 0 nor 1.
    learner = Learner(KernelRidge(RBF(10.0), dim=DIM), QuFUR(ALPHA[work]))
    learner.learn(X[:labels], y[:labels])
    return learner


def _time(learner: Learner, X: Floats, y: Floats) -> float:
    start = time.process_time()
    for x, label in zip(X, y, strict=True):
        decision = learner.ask(x)
        if decision.query:
            learner.tell(decision.id, label)
    return time.process_time() - start


def _exponents(ladder: list[int], seconds: Floats) -> dict[str, float]:
    """Return the exponent of the medians, and the quartiles of those of single rounds."""
    rounds = np.polyfit(np.log(ladder), np.log(seconds), 1)[0]
    low, high = np.quantile(rounds, [0.25, 0.75])
    median = np.polyfit(np.log(ladder), np.log(np.median(seconds, axis=1)), 1)[0]
    return {"value": float(median), "low": float(low), "high": float(high)}


def render(results: dict[str, Any]) -> str:
    """Return the table and the verdict."""
    header = [f"kernel, d = {results['dim']}", *(f"Q = {labels}" for labels in results["ladder"])]
    header += ["exponent", "quartiles", "target", ""]
    rows = []
    for work, timings in results["microseconds"].items():
        exponent = results["exponent"][work]
        rows.append(
            [
                work,
                *(str(Timing(**timing)) for timing in timings),
                f"{exponent['value']:.2f}",
                f"{exponent['low']:.2f} to {exponent['high']:.2f}",
                f"<= {LARGEST_EXPONENT}",
                "reached" if exponent["value"] <= LARGEST_EXPONENT else "short",
            ]
        )
    return (
        "Kernel regression, CPU microseconds per step after Q labels, one BLAS thread: median of the rounds\n"
        "± half the quartile range. The cost per step must grow as Q², not Q³; the exponent is fitted to "
        f"Q >= {min(results['fitted'])}.\n" + table(header, rows) + "\n"
    )
