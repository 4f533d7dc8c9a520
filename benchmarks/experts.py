"""Cost of the linear experts of `Experts` relative to one `Ridge`, with 5 % of the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.text import Progress, Table
from benchmarks.timing import Timing, interleaved
from qufur import Experts, Learner, Ridge, Steady, run
from qufur.models.base import Model
from qufur.models.ensemble.experts import LINEAR
from qufur.models.ensemble.fits import ExpertSet
from qufur.models.ensemble.ridge_experts import RidgeExperts
from qufur.streams import Arrays

DIMS = {20: 6000, 88: 6000, 768: 3000}
LABELS = 0.05
ROUNDS = 5


class LinearExperts(Experts):
    """Experts reduced to ridge regressions on the inputs."""

    def build_experts(self, dim: int, further: int) -> ExpertSet:
        """Return the ridge regressions, without any other expert."""
        return ExpertSet([RidgeExperts(LINEAR, lambda Z: Z, "linear")], [], self.prior_output(), dim)


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Replay a stream, and ask and tell row by row, with one model and with experts."""
    measured = []
    for dim, steps in DIMS.items():
        progress.say(f"experts: d = {dim}")
        measured.append(_compare(dim, 60 if quick else steps, 1 if quick else ROUNDS))
    return measured


def _compare(dim: int, steps: int, rounds: int) -> dict[str, Any]:
    rng = np.random.default_rng(dim)
    X = rng.standard_normal((steps, dim)) / dim**0.5
    data = Arrays(X, X @ rng.standard_normal(dim) + 0.1 * rng.standard_normal(steps))
    models: dict[str, Model] = {"Ridge": Ridge(dim, intercept=True), "experts": LinearExperts(dim)}
    variants = {f"run, {name}": _run(model, data) for name, model in models.items()}
    variants |= {f"ask, {name}": _ask(model, data) for name, model in models.items()}
    timings = interleaved(variants, steps, rounds)
    cost = {name: timing.median for name, timing in timings.items()}
    return {
        "dim": dim,
        "steps": steps,
        "microseconds": {name: asdict(timing) for name, timing in timings.items()},
        "slower": {way: cost[f"{way}, experts"] / cost[f"{way}, Ridge"] for way in ("run", "ask")},
    }


def _learner(model: Model, data: Arrays) -> Learner:
    return Learner(model, Steady(max(1, round(LABELS * data.horizon)), data.horizon))


def _run(model: Model, data: Arrays) -> Callable[[], object]:
    return lambda: run(_learner(model, data), data)


def _ask(model: Model, data: Arrays) -> Callable[[], object]:
    def work() -> None:
        learner = _learner(model, data)
        for x, y in zip(data.X, data.y.tolist(), strict=True):
            answer = learner.ask(x)
            if answer.query:
                learner.tell(answer.id, y)

    return work


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Return costs and ratios."""
    rows = []
    for r in results:
        cost = [str(Timing(**timing)) for timing in r["microseconds"].values()]
        rows.append(
            [
                f"d = {r['dim']}, T = {r['steps']}",
                *cost,
                *(f"{r['slower'][way]:.1f}×" for way in ("run", "ask")),
            ]
        )
    header = ["experts", *results[0]["microseconds"], "run: experts / Ridge", "ask: experts / Ridge"]
    return [Table(f"{len(LINEAR)} linear experts, CPU microseconds per step", header, rows)]
