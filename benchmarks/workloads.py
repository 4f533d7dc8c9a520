"""Streams of the replay benchmarks, in memory so that drawing them is not timed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks import compiled
from qufur import Learner, QuFUR, Ridge, Trace, run
from qufur.rules.base import Rule
from qufur.streams import Arrays, HiddenDomains

SEED = 7
RATES = (0.02, 0.20, 0.60)
STREAMS: dict[int, Callable[[], HiddenDomains]] = {
    16: lambda: HiddenDomains([200, 100, 400, 200, 500, 100], [4, 2, 3, 4, 1, 2], seed=SEED),
    88: lambda: HiddenDomains.scripts(SEED),  # Σ d_u = 87
    384: lambda: HiddenDomains([300, 600, 1200], [30, 60, 100], ambient=384, seed=SEED),
    768: lambda: HiddenDomains([300, 600, 1200], [60, 120, 200], ambient=768, seed=SEED),
    4096: lambda: HiddenDomains([100, 200, 300], [60, 120, 200], ambient=4096, seed=SEED),
}
QUICK_ROWS = 150


def stream(dim: int, quick: bool) -> Arrays:
    """Return the stream of this dimension; with `quick` only about `QUICK_ROWS` of its rows.

    16 is a small synthetic stream. 88 is the setting of the authors' scripts with their coordinate that no
    input uses. The others stand in for embeddings of three domains: unit vectors in overlapping subspaces.
    """
    domains = STREAMS[dim]()
    (whole,) = domains.chunks(domains.horizon)
    # The hand-written loops are slow at d = 4096.
    count = min(domains.horizon, QUICK_ROWS if dim < 1000 else 6) if quick else domains.horizon
    rows = slice(None, None, domains.horizon // count)
    X = np.pad(whole.X[rows], [(0, 0), (0, dim - domains.dim)])
    return Arrays(X, whole.y[rows], truth=whole.truth[rows], domain=whole.domain[rows])


def calibrated(data: Arrays, rate: float) -> float:
    """Return the α that spends this share of the stream, by bisection on inputs alone."""
    low, high, labels = 1e-6, 1e9, rate * data.horizon
    while high / low > 1.0001:
        alpha = math.sqrt(low * high)
        spent = play(data, alpha).queries
        if abs(spent - labels) <= 0.002 * data.horizon:
            return alpha
        low, high = (alpha, high) if spent < labels else (low, alpha)
    return math.sqrt(low * high)


def play(data: Arrays, alpha: float, *, use_compiled: bool = False) -> Trace:
    """Replay the stream with `qufur.run` and QuFUR."""
    return play_rule(data, QuFUR(alpha), use_compiled=use_compiled)


def play_rule(data: Arrays, rule: Rule, *, use_compiled: bool = False) -> Trace:
    """Replay the stream with `qufur.run` and any rule."""
    with compiled.switched(use_compiled):
        return run(Learner(Ridge(data.dim), rule, seed=SEED), data)
