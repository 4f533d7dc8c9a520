"""Other libraries on the stream of d = 88, one example at a time: cost per step and loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import workloads
from benchmarks.installed import importable
from benchmarks.text import Progress, Table
from benchmarks.timing import Timing, interleaved
from qufur import Learner, QuFUR, Ridge
from qufur.arrays import Floats
from qufur.streams import Arrays

DIM = 88
RATE = 0.20
ROUNDS = 7


@dataclass(frozen=True)
class Examples:
    """Stream in the input formats of the libraries, converted outside the timed part."""

    data: Arrays
    dicts: list[dict[int, float]]
    lines: list[str]

    @classmethod
    def of(cls, data: Arrays) -> Examples:
        """Convert every row."""
        dicts = [dict(enumerate(x.tolist())) for x in data.X]
        words = (" ".join(f"{j}:{x[j]}" for j in np.flatnonzero(x)) for x in data.X)
        return cls(data, dicts, [f"{y} | {text}" for y, text in zip(data.y, words, strict=True)])


Peer = Callable[[Examples], Floats]
"""Function that predicts every example before it learns the label, with default settings."""


def qufur_ask(data: Arrays, alpha: float) -> Floats:
    """Ask for every example, and tell the queried labels."""
    learner, predictions = Learner(Ridge(data.dim), QuFUR(alpha), seed=workloads.SEED), np.empty(data.horizon)
    for t, (x, y) in enumerate(zip(data.X, data.y, strict=True)):
        decision = learner.ask(x)
        predictions[t] = decision.prediction
        if decision.query:
            learner.tell(decision.id, y)
    return predictions


def river_bayes(examples: Examples, *, uncertainty: bool) -> Floats:
    """Run river's Bayesian linear regression: the same least squares, optionally with uncertainty."""
    from river.linear_model import BayesianLinearRegression

    labels = examples.data.y.tolist()
    model, predictions = BayesianLinearRegression(), np.empty(len(labels))
    for t, (x, y) in enumerate(zip(examples.dicts, labels, strict=True)):
        prediction = model.predict_one(x, with_dist=uncertainty)
        predictions[t] = prediction.mu if uncertainty else prediction
        model.learn_one(x, y)
    return predictions


def vowpal_wabbit(examples: Examples) -> Floats:
    """Run Vowpal Wabbit: adaptive, normalised gradient steps; `learn` predicts first."""
    from vowpalwabbit import Workspace

    model, predictions = Workspace(quiet=True), np.empty(len(examples.lines))
    for t, line in enumerate(examples.lines):
        example = model.example(line)
        model.learn(example)
        predictions[t] = example.get_simplelabel_prediction()
        model.finish_example(example)
    model.finish()
    return predictions


def sklearn_sgd(examples: Examples) -> Floats:
    """Run stochastic gradient descent of scikit-learn."""
    from sklearn.linear_model import SGDRegressor

    data, model = examples.data, SGDRegressor(random_state=workloads.SEED)
    predictions = np.zeros(data.horizon)
    for t in range(data.horizon):
        row = slice(t, t + 1)
        if t:
            predictions[t] = model.predict(data.X[row])[0]
        model.partial_fit(data.X[row], data.y[row])
    return predictions


PEERS: dict[str, tuple[str, Peer]] = {
    "river, Bayesian regression": ("river", partial(river_bayes, uncertainty=False)),
    "river, Bayesian regression with uncertainty": ("river", partial(river_bayes, uncertainty=True)),
    "Vowpal Wabbit, defaults": ("vowpalwabbit", vowpal_wabbit),
    "scikit-learn, SGDRegressor.partial_fit": ("sklearn", sklearn_sgd),
}
"""Module that must be installed, and function, of each peer."""


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Run every library on the stream."""
    progress.say("peers")
    data = workloads.stream(DIM, quick)
    examples = Examples.of(data)
    alpha = workloads.calibrated(data, RATE)
    variants: dict[str, Callable[[], Floats]] = {
        "qufur, replay, all labels": lambda: workloads.play(data, 1e15).prediction,
        f"qufur, replay, {RATE:.0%} of labels": lambda: workloads.play(data, alpha).prediction,
        "qufur, ask and tell, all labels": lambda: qufur_ask(data, 1e15),
        f"qufur, ask and tell, {RATE:.0%} of labels": lambda: qufur_ask(data, alpha),
    }
    for name, (module, peer) in PEERS.items():
        if importable(module):
            variants[name] = partial(peer, examples)
    outputs: dict[str, Floats] = {}
    timings = interleaved(variants, data.horizon, 1 if quick else ROUNDS, check=outputs.update)
    return {
        "dim": data.dim,
        "horizon": data.horizon,
        "skipped": {name: module for name, (module, _) in PEERS.items() if name not in variants},
        "peers": [
            {
                "name": name,
                "microseconds": asdict(timing),
                "loss": float(np.mean((_clipped(outputs[name]) - data.y) ** 2)),
                "regret": float(np.mean((_clipped(outputs[name]) - data.truth) ** 2)),
            }
            for name, timing in timings.items()
        ],
    }


def _clipped(predictions: Floats) -> Floats:
    return np.clip(predictions, -1.0, 1.0)


def tables(results: dict[str, Any]) -> list[Table]:
    """Return a table of costs, losses and regrets."""
    rows = [
        [r["name"], str(Timing(**r["microseconds"])), f"{r['loss']:.4f}", f"{r['regret']:.4f}"]
        for r in results["peers"]
    ]
    rows += [[name, f"skipped: needs {module}", "-", "-"] for name, module in results["skipped"].items()]
    stream = f"d = {results['dim']}, T = {results['horizon']}"
    title = f"Peers, {stream}: CPU microseconds per step, mean loss and regret"
    note = "All labels are bought unless stated otherwise; every example is predicted before it is learned."
    return [Table(title, ["library", "µs per step", "mean loss", "mean regret"], rows, note)]
