"""Time profile of one `ask` at 88 columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.text import Progress, Table
from benchmarks.timing import Timing, interleaved
from qufur import Learner, QuFUR, Ridge
from qufur.answer import answer
from qufur.arrays import Floats, as_input_one

DIM = 88
ROUNDS = 9
PARTS = {
    "input": "check the input",
    "solve": "M⁻¹x, one `dsymv`",
    "meet": "prediction and Δ, the rest",
    "decide_one": "uniform draw, threshold, probability, budget",
    "ledger": "ledger, loss estimate, shift signal",
    "answer": "the answer and its context",
}


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Time a whole `ask`, and each of its parts alone."""
    progress.say("profile: one ask")
    steps = 20 if quick else 2000
    X = np.random.default_rng(DIM).standard_normal((steps, DIM))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    learner = Learner(Ridge(DIM), QuFUR(1e-15))
    learner.learn(X, np.zeros(steps))
    timings = interleaved(_variants(learner, X), steps, 1 if quick else ROUNDS)
    return {"dim": DIM, "microseconds": {name: asdict(timing) for name, timing in timings.items()}}


def _variants(learner: Learner, X: Floats) -> dict[str, Callable[[], object]]:
    state, spending, ledger, model = learner.state, learner.spending, learner.ledger, learner.model
    form = state.queried.form  # type: ignore[attr-defined]

    def build_answer() -> None:
        answer((0, 0.1, 0.2, 0.3, False), (model, model.squared_norm(X[0], 1.0), 0, None))

    works: dict[str, Callable[[Floats], object]] = {
        "ask": learner.ask,
        "input": lambda x: as_input_one(x, DIM, "Learner"),
        "solve": form.solve_one,
        "meet": lambda x: state.predict_next(x, 1.0),
        "decide_one": lambda x: spending.decide_one(0.3, learner.rng, None),
        "ledger": lambda x: ledger.record_one(0.1, 0.2, 0.3, False),
        "answer": lambda x: build_answer(),
    }
    return {name: lambda work=work: [work(x) for x in X] for name, work in works.items()}


def tables(measurements: dict[str, Any]) -> list[Table]:
    """Return the time of each part and the remainder."""
    cost = {name: Timing(**timing).median for name, timing in measurements["microseconds"].items()}
    cost["meet"] -= cost["solve"]
    cost["rest"] = cost["ask"] - sum(cost[name] for name in PARTS)
    names = {**PARTS, "rest": "remainder", "ask": "one `ask`"}
    rows = [[title, f"{cost[name]:.2f}", f"{cost[name] / cost['ask']:.0%}"] for name, title in names.items()]
    title = f"One ask at d = {measurements['dim']}, CPU microseconds"
    note = "Each part is timed alone, which adds the overhead of a call."
    return [Table(title, ["part", "µs", "share"], rows, note)]
