"""Cost of one `ask`, and of `ask` and `tell`, against bare BLAS calls (a lower bound) and river."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.linalg import blas

from benchmarks.installed import importable
from benchmarks.text import Progress, Table
from benchmarks.timing import Timing, interleaved
from qufur import Learner, QuFUR, Ridge
from qufur.arrays import Floats

NEVER, ALWAYS = 1e-15, 1e15
DIMS = (88, 768)
LARGEST_FOR_RIVER = 88
ROUNDS = 7
PAIRS = {"ask": "dsymv", "ask+tell": "dsymv+dsyr"}


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Measure one example at a time, without pending labels."""
    progress.say("single: one ask, one tell")
    return [_measure(dim, 20 if quick else 1000, 1 if quick else ROUNDS) for dim in DIMS]


def _measure(dim: int, steps: int, rounds: int) -> dict[str, Any]:
    X = np.random.default_rng(dim).standard_normal((steps, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    variants = {
        "ask": _ask(_learner(X, NEVER), X),
        "dsymv": _dsymv(X),
        "ask+tell": _ask_tell(_learner(X, ALWAYS), X),
        "dsymv+dsyr": _dsymv_dsyr(X),
    }
    if dim <= LARGEST_FOR_RIVER and importable("river"):
        variants["river"] = _river(X)
    timings = interleaved(variants, steps, rounds)
    cost = {name: timing.median for name, timing in timings.items()}
    return {
        "dim": dim,
        "microseconds": {name: asdict(timing) for name, timing in timings.items()},
        "ratio": {work: cost[work] / cost[bare] for work, bare in PAIRS.items()},
        "faster_than_river": cost["river"] / cost["ask"] if "river" in cost else None,
    }


def _learner(X: Floats, alpha: float) -> Learner:
    learner = Learner(Ridge(X.shape[1]), QuFUR(alpha))
    learner.learn(X, np.zeros(len(X)))
    return learner


def _ask(learner: Learner, X: Floats) -> Callable[[], object]:
    def work() -> None:
        for x in X:
            learner.ask(x)

    return work


def _ask_tell(learner: Learner, X: Floats) -> Callable[[], object]:
    def work() -> None:
        for x in X:
            learner.tell(learner.ask(x).id, 0.5)

    return work


def _river(X: Floats) -> Callable[[], object]:
    from river.linear_model import BayesianLinearRegression

    model = BayesianLinearRegression()
    rows = [dict(enumerate(x.tolist())) for x in X]  # the input format of river
    for row in rows:
        model.learn_one(row, 0.0)

    def work() -> None:
        for row in rows:
            model.predict_one(row, with_dist=True)

    return work


def _dsymv(X: Floats) -> Callable[[], object]:
    inverse = np.asfortranarray(np.eye(X.shape[1]))

    def work() -> None:
        for x in X:
            blas.dsymv(1.0, inverse, x)

    return work


def _dsymv_dsyr(X: Floats) -> Callable[[], object]:
    inverse = np.asfortranarray(np.eye(X.shape[1]))

    def work() -> None:
        for x in X:
            solved = blas.dsymv(1.0, inverse, x)
            blas.dsyr(-1.0 / (1.0 + solved @ x), solved, a=inverse, overwrite_a=1)

    return work


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Return costs and ratios."""
    rows = []
    for r in results:
        cost = {name: str(Timing(**timing)) for name, timing in r["microseconds"].items()}
        for work, bare in PAIRS.items():
            name = f"d = {r['dim']}, {work}"
            rows.append([name, cost[work], bare, cost[bare], f"{r['ratio'][work]:.2f}×"])
        if r["faster_than_river"]:
            ratio = f"{1 / r['faster_than_river']:.2f}×"
            name = f"d = {r['dim']}, ask"
            rows.append([name, cost["ask"], "river, with uncertainty", cost["river"], ratio])
    header = ["one example", "qufur", "against", "cost", "ratio"]
    return [Table("One example at a time, no pending labels, CPU microseconds", header, rows)]
