"""How far from its fit a confidence set reaches."""

from __future__ import annotations

import math


def squared_radius(count: int, log_covering: float, horizon: int, noise: float, delta: float) -> float:
    """Return β_k of Equation "beta_k" after k = `count` labels.

    β_k = 8η² ln(4𝒩/δ) + (2k/T²)(16 + √(2η² ln(16k²/δ))), with 𝒩 the covering number of 𝓕 at scale 1/T². At
    k = 0, where the paper takes the logarithm of 0, the second part is 0.

    >>> round(squared_radius(5, math.log(2), horizon=10, noise=1.0, delta=0.5), 4)
    24.1463
    """
    first = 8 * noise**2 * (math.log(4 / delta) + log_covering)
    if count == 0:
        return first
    root = math.sqrt(2 * noise**2 * math.log(16 * count**2 / delta))
    return first + 2 * count / horizon**2 * (16 + root)
