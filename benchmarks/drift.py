"""Accuracy after many updates on adversarial inputs, against an extended-precision solve."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.exact import ExactGram, on_grid, relative_error
from benchmarks.text import Progress, table
from qufur.arrays import Floats
from qufur.models.gram.gram import Gram

DIM = 8
REGULARIZATION = 1.0
PROMISE = 1e-6
"""Largest relative error."""
IGNORED = 1e-9
"""Absolute errors of predictions up to this count as none."""
BLOCKS = (1, 64)
"""Rows per update."""
PROBES = 100
"""Probes of each of three types: rows of the stream, multiples of rare directions, random directions."""


@dataclass(frozen=True)
class Regime:
    """Type of stream.

    Parameters
    ----------
    name
        Description for the table.
    norms
        Smallest and largest norm; the logarithm of the norm is uniform between them.
    collinear, duplicate
        Shares of rows along one of three directions, and of rows seen before; the rest is random.
    wobble
        Deviation of a row from its direction, relative to its norm.
    """

    name: str
    norms: tuple[float, float]
    collinear: float
    duplicate: float = 0.0
    wobble: float = 0.0


REGIMES = (
    Regime("unit norm, random", (1.0, 1.0), collinear=0.0),
    Regime("norm 10^3, collinear", (1e3, 1e3), collinear=1.0, wobble=1e-3),
    Regime("norms 1e-6..1e6, a third each duplicate, collinear, random", (1e-6, 1e6), 1 / 3, 1 / 3),
    Regime("norms 1e-6..1e6, half duplicate, half collinear", (1e-6, 1e6), 1 / 2, 1 / 2),
    Regime("norms 1e-6..1e6, only collinear, off by 1e-8", (1e-6, 1e6), collinear=1.0, wobble=1e-8),
)


def measure(updates: int, progress: Progress) -> list[dict[str, Any]]:
    """Run every regime row by row and in blocks."""
    return [result for regime in REGIMES for result in _play(regime, updates, progress)]


def render(results: list[dict[str, Any]]) -> str:
    """Return the table."""
    header = [f"drift, d = {DIM}, {results[0]['updates']:,} updates", "rows at a time", "µs per update"]
    header += ["ended as", "variance", "prediction", "absolute", f"within {PROMISE:g}"]
    rows = [
        [
            r["regime"],
            str(r["block"]),
            f"{r['microseconds']:.1f}",
            r["form"],
            *(f"{r[name]:.1e}" for name in ("variance", "prediction", "absolute")),
            "kept" if r["kept"] else f"broken, first at {r['first_broken']:,}",
        ]
        for r in results
    ]
    return (
        "Worst relative error of ‖x‖² in M⁻¹ and of ⟨θ̂, x⟩ over probes, at every power of ten updates,\n"
        "against a solve in 60 digits. Predictions are not clipped. Their absolute errors up to "
        f"{IGNORED:g}\ncount as none (labels are in [−1, 1]).\n" + table(header, rows) + "\n"
    )


def _play(regime: Regime, updates: int, progress: Progress) -> list[dict[str, Any]]:
    rng = np.random.default_rng(42)
    X, probes = _draw(regime, updates, rng)
    theta = rng.standard_normal(DIM)
    y = on_grid(np.clip(X @ theta, -1.0, 1.0) + 0.1 * rng.standard_normal(updates))
    grams = {block: Gram(DIM, REGULARIZATION) for block in BLOCKS}
    seconds, exact = dict.fromkeys(BLOCKS, 0.0), ExactGram(DIM)
    checks: dict[int, list[dict[str, float]]] = {block: [] for block in BLOCKS}
    done = 0
    for end in _checkpoints(updates):
        part = slice(done, end)
        exact.add(X[part], y[part])
        truth = exact.solve(probes, REGULARIZATION)
        for block, gram in grams.items():
            progress.say(f"drift: {regime.name}, {block} at a time, up to {end:,} updates")
            seconds[block] += _feed(gram, X[part], y[part], block)
            checks[block].append({"updates": end, **_errors(gram, probes, *truth)})
        done = end
    return [
        _summary(regime, block, gram, 1e6 * seconds[block] / updates, checks[block])
        for block, gram in grams.items()
    ]


def _draw(regime: Regime, updates: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    directions = _unit(rng.standard_normal((3, DIM)))
    share_of_new = regime.collinear / (1.0 - regime.duplicate)
    X = _rows(regime, directions, rng.random(updates) < share_of_new, rng)
    (again,) = np.nonzero(rng.random(updates) < regime.duplicate)
    X[again] = X[(again * rng.random(len(again))).astype(int)]
    early = X[: min(updates, 1000)]
    along = _rows(regime, directions, np.ones(PROBES, dtype=bool), rng)
    across = _rows(regime, directions, np.zeros(PROBES, dtype=bool), rng)
    return X, np.vstack([early[rng.integers(len(early), size=PROBES)], along, across])


def _rows(regime: Regime, directions: Floats, collinear: np.ndarray, rng: np.random.Generator) -> Floats:
    random = _unit(rng.standard_normal((len(collinear), DIM)))
    along = directions[rng.integers(len(directions), size=len(collinear))] + regime.wobble * random
    low, high = np.log(regime.norms)
    norms = np.exp(rng.uniform(low, high, (len(collinear), 1)))
    return on_grid(norms * _unit(np.where(collinear[:, None], along, random)))


def _unit(X: Floats) -> Floats:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _checkpoints(updates: int) -> list[int]:
    return [*(10**k for k in range(20) if 10**k < updates), updates]


def _feed(gram: Gram, X: Floats, y: Floats, block: int) -> float:
    """Learn the rows and return the CPU time."""
    begin = time.process_time()
    for start in range(0, len(X), block):
        rows = slice(start, start + block)
        gram.absorb(gram.update(X[rows]), y[rows])
    return time.process_time() - begin


def _errors(gram: Gram, probes: Floats, variances: list[Any], predictions: list[Any]) -> dict[str, float]:
    together = gram.variance(probes)
    alone = np.concatenate([gram.variance(probe[None]) for probe in probes])
    scores = probes @ gram.coef
    return {
        "variance": max(relative_error(together, variances), relative_error(alone, variances)),
        "prediction": relative_error(scores, predictions, IGNORED),
        "absolute": float(np.abs(scores - np.array(predictions, dtype=float)).max()),
    }


def _summary(
    regime: Regime, block: int, gram: Gram, microseconds: float, checks: list[dict[str, float]]
) -> dict[str, Any]:
    worst = {name: max(check[name] for check in checks) for name in ("variance", "prediction", "absolute")}
    broken = [check["updates"] for check in checks if max(check["variance"], check["prediction"]) > PROMISE]
    return {
        "regime": regime.name,
        "block": block,
        "updates": checks[-1]["updates"],
        "microseconds": microseconds,
        "form": type(gram.form).__name__,
        **worst,
        "kept": not broken,
        "first_broken": broken[0] if broken else None,
        "checks": checks,
    }
