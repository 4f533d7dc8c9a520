"""Hand-written replay loops, one example at a time, as reference for the library."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads import SEED
from qufur.arrays import Bools, Floats
from qufur.streams import Arrays


def plain_numpy(data: Arrays, alpha: float) -> tuple[Bools, Floats]:
    """Update M⁻¹ and θ̂ by the Sherman–Morrison formula; return queries and predictions."""
    rng = np.random.default_rng(SEED)
    query, prediction = np.zeros(data.horizon, dtype=bool), np.empty(data.horizon)
    inverse, theta = np.eye(data.dim), np.zeros(data.dim)
    for t in range(data.horizon):
        x = data.X[t]
        solved = inverse @ x
        variance = x @ solved
        score = theta @ x
        prediction[t] = max(-1.0, min(1.0, score))
        if rng.random() < min(1.0, alpha * min(1.0, variance)):
            theta += solved * ((data.y[t] - score) / (1.0 + variance))
            inverse -= np.outer(solved, solved / (1.0 + variance))
            query[t] = True
    return query, prediction


def authors_loop(data: Arrays, alpha: float) -> tuple[Bools, Floats]:
    """Restack all queried rows at every step to solve for θ̂, as the published scripts do."""
    rng = np.random.default_rng(SEED)
    query, prediction = np.zeros(data.horizon, dtype=bool), np.empty(data.horizon)
    inverse = np.eye(data.dim)
    rows: list[Floats] = []
    labels: list[float] = []
    for t in range(data.horizon):
        x = data.X[t]
        queried = np.array(rows).reshape(-1, data.dim)
        theta = inverse @ (queried.T @ np.array(labels))
        prediction[t] = np.clip(theta @ x, -1.0, 1.0)
        delta = min(1.0, x @ inverse @ x)
        if rng.random() < min(1.0, alpha * delta):
            solved = inverse @ x
            inverse = inverse - np.outer(solved, solved) / (1.0 + x @ solved)
            rows.append(x)
            labels.append(data.y[t])
            query[t] = True
    return query, prediction
