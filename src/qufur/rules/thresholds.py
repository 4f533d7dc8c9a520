"""Decisions as thresholds of uncertainty: above its threshold a label is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qufur.arrays import Floats, Numbers

ALWAYS, NEVER = -1.0, math.inf
LARGEST_COIN = math.nextafter(1.0, 0.0)
SMALLEST_ALPHA = 1e-300  # beyond it a coin over α is no number


def reached(coins: Floats, alpha: float, power: float, floor: float) -> Floats:
    """Return the Δ above which each coin lies below max(floor, (αΔ)^γ).

    >>> reached(np.array([0.1, 0.25]), alpha=2.0, power=2.0, floor=0.2)
    array([-1.  ,  0.25])
    """
    if alpha < SMALLEST_ALPHA:
        return np.where(coins < floor, ALWAYS, NEVER)
    threshold = (coins if power == 1.0 else coins ** (1 / power)) / alpha
    return np.where(coins < floor, ALWAYS, threshold) if floor else threshold


def reached_by_line(coins: Numbers, base: float, slope: float) -> Numbers:
    """Return the Δ above which each coin lies below base + slope·Δ.

    >>> reached_by_line(np.array([0.1, 0.5]), base=0.25, slope=0.5)
    array([-1. ,  0.5])
    """
    if isinstance(coins, float):  # NumPy takes long over a single one
        return ALWAYS if coins < base else (coins - base) / slope if slope else NEVER
    return np.where(coins < base, ALWAYS, (coins - base) / slope if slope else NEVER)


def bisected(probability: Callable[[Floats], Floats], coins: Floats) -> Floats:
    """Return the largest Δ ≥ 0 at which a probability that rises with Δ is at most the coin.

    Numbers from 0 to ∞ are in the order of their bits, so that 63 halvings find the one.
    """
    lows, highs = np.full(coins.shape, -1, dtype=np.int64), np.full(coins.shape, np.inf).view(np.int64)
    for _ in range(64):
        middle = lows + ((highs - lows + 1) >> 1)
        tried = np.maximum(middle, 0).view(np.float64)
        if len(tried) == 1:
            p = probability(tried[0])
        else:
            p = np.stack([np.atleast_2d(probability(row))[copy] for copy, row in enumerate(tried)])
        wanted = coins < p
        np.copyto(highs, middle - 1, where=wanted)
        np.copyto(lows, middle, where=~wanted)
    return np.where(lows < 0, ALWAYS, np.maximum(lows, 0).view(np.float64))
