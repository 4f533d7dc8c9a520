"""Query decisions as thresholds of Δ: an example is queried if its Δ exceeds its threshold."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qufur.arrays import Floats, Numbers

ALWAYS, NEVER = -1.0, math.inf
LARGEST_DRAW = math.nextafter(1.0, 0.0)
SMALLEST_ALPHA = 1e-300  # below it, a draw divided by α may overflow


def threshold_of(draws: Floats, alpha: float, power: float, floor: float) -> Floats:
    """Return the Δ above which each draw lies below max(floor, (αΔ)^γ).

    >>> threshold_of(np.array([0.1, 0.25]), alpha=2.0, power=2.0, floor=0.2)
    array([-1.  ,  0.25])
    """
    if alpha < SMALLEST_ALPHA:
        return np.where(draws < floor, ALWAYS, NEVER)
    threshold = (draws if power == 1.0 else draws ** (1 / power)) / alpha
    return np.where(draws < floor, ALWAYS, threshold) if floor else threshold


def linear_threshold(draws: Numbers, base: float, slope: float) -> Numbers:
    """Return the Δ above which each draw lies below base + slope·Δ.

    >>> linear_threshold(np.array([0.1, 0.5]), base=0.25, slope=0.5)
    array([-1. ,  0.5])
    """
    if isinstance(draws, float):  # faster than NumPy for a scalar
        return ALWAYS if draws < base else (draws - base) / slope if slope else NEVER
    return np.where(draws < base, ALWAYS, (draws - base) / slope if slope else NEVER)


def bisect_threshold(probability: Callable[[Floats], Floats], draws: Floats) -> Floats:
    """Return the largest Δ ≥ 0 at which an increasing probability is at most the draw.

    Non-negative floats are ordered like their bit patterns, so bisection over the bits takes 64 steps.
    """
    lows, highs = np.full(draws.shape, -1, dtype=np.int64), np.full(draws.shape, np.inf).view(np.int64)
    for _ in range(64):
        middle = lows + ((highs - lows + 1) >> 1)
        candidates = np.maximum(middle, 0).view(np.float64)
        p = [np.atleast_2d(probability(row))[copy] for copy, row in enumerate(candidates)]
        queried = draws < np.stack(p)
        np.copyto(highs, middle - 1, where=queried)
        np.copyto(lows, middle, where=~queried)
    return np.where(lows < 0, ALWAYS, np.maximum(lows, 0).view(np.float64))
