"""Bets on coins of known odds: the sums G and C of `loss_estimate`, and where they cross a level."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Bools, Floats

BOLDNESS = 0.98
"""How close a factor may come to 0 at the largest loss: at 1, one such loss would void a rate for good."""

NEWTON_STEPS = 8


def gains(p: Floats, query: Bools, loss: Floats, rates: Floats) -> Floats:
    """Return what each example, 0 < p < 1, adds to G at each rate.

    1 + (e^a − 1)/p is e^a (1 + (1 − e^−a)(1 − p)/p), which cannot overflow.
    """
    found = np.zeros((len(p), len(rates)))
    a = rates * loss[query, None]
    found[query] = a + np.log1p(-np.expm1(-a) * (1 / p[query, None] - 1))
    return found


def costs(p: Floats, query: Bools, loss: Floats, largest: Floats, rates: Floats) -> Floats:
    """Return what each example, 0 < p < 1, adds to C at each rate.

    1 − (1 − e^−a)/p is e^−a (1 − (e^a − 1)(1 − p)/p), at least 1 − boldness times e^−a at the largest loss.
    """
    full = rates * largest[:, None]
    bet = np.minimum(full, largest_bet(p)[:, None])
    found = full - bet
    share = np.divide(loss, largest, out=np.zeros_like(loss), where=largest > 0)
    a = bet[query] * share[query, None]
    found[query] += a - np.log1p(-np.expm1(a) * (1 / p[query, None] - 1))
    return np.asarray(found)


def largest_bet(p: Floats) -> Floats:
    """Return the largest λ_i b_i that a probability allows."""
    return np.asarray(np.log1p(BOLDNESS * p / (1 - p)))


def root(offsets: Floats, rates: Floats, threshold: float) -> Floats:
    """Return, for each row, x with log Σ exp(offset + rate x) = threshold, or a little more.

    The left side is convex and rises, and the start is where its largest term alone reaches the threshold, at
    or above the root. From there Newton's steps fall towards the root without passing it: stopping at any
    step is valid.
    """
    x = ((threshold - offsets) / rates).min(axis=1)
    for _ in range(NEWTON_STEPS):
        exponents = offsets + rates * x[:, None]
        top = exponents.max(axis=1)
        terms = np.exp(exponents - top[:, None])
        total = terms.sum(axis=1)
        x = x - (top + np.log(total) - threshold) * total / (terms @ rates)
    return np.asarray(x)
