"""The synthetic stream exactly as the authors' scripts draw it."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.streams.arrays import Arrays


def published_draw(seed: int) -> Arrays:
    """Repeat the scripts' draw to the bit, for golden numbers; `HiddenDomains.scripts` is the setting itself.

    First 20 coins k ∈ {1, 2} with T_u = 50k and d_u = 3(3 − k), then all inputs domain by domain, then θ*
    uniform on the unit sphere, then noise of standard deviation 0.1. The scripts keep a last coordinate
    that no input uses, so that d = Σ d_u + 1; it takes its share of ‖θ*‖ = 1.

    >>> stream = published_draw(3)
    >>> stream.X.shape, stream.domain[-1].item(), round(stream.y.sum().item(), 8)
    ((1500, 91), 19, -2.86844086)
    """
    rng = np.random.RandomState(seed)
    k = np.array([rng.randint(2) + 1 for _ in range(20)])
    durations, dims = 50 * k, 3 * (3 - k)
    domain = np.repeat(np.arange(20), durations)
    X = np.zeros((len(domain), dims.sum() + 1))
    first = np.cumsum(dims) - dims
    for x, u in zip(X, domain, strict=True):
        x[first[u] : first[u] + dims[u]] = _unit(rng.normal(0, 1, dims[u]))
    truth = X @ _unit(rng.normal(0, 1, X.shape[1]))
    return Arrays(X, truth + rng.normal(0, 0.1, len(X)), truth=truth, domain=domain)


def _unit(x: Floats) -> Floats:
    return x / np.linalg.norm(x)
