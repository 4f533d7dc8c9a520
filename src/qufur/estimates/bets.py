"""Bets on coins of known odds: the sums G and C of `loss_estimate`, and where they cross a level.

Sums of logarithms need absolute accuracy only, so exp and log do, which are faster than expm1 and log1p.
"""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats

BOLDNESS = 0.98
"""How close a factor may come to 0 at the largest loss: at 1, one such loss would void a rate for good."""

NEWTON_STEPS = 8


def gains(p: Floats, loss: Floats, rates: Floats) -> Floats:
    """Return what each query, 0 < p < 1, adds to G at each rate; other examples add nothing.

    1 + (e^a − 1)/p is e^a (1 + (1 − e^−a)(1 − p)/p), which cannot overflow.
    """
    a = rates * loss[:, None]
    return np.asarray(a + np.log(1 + (1 - np.exp(-a)) * (1 / p[:, None] - 1)))


def costs(p: Floats, loss: Floats, largest: Floats, rates: Floats) -> Floats:
    """Return what each query, 0 < p < 1, adds to C at each rate.

    1 − (1 − e^−a)/p is e^−a (1 − (e^a − 1)(1 − p)/p), at least 1 − boldness times e^−a at the largest loss.
    """
    share = np.divide(loss, largest, out=np.zeros_like(loss), where=largest > 0)[:, None]
    a = share * np.minimum(rates * largest[:, None], largest_bet(p)[:, None])
    # Not 1/p − 1, which next to p = 1 has no digit right: the logarithm would be of a negative number.
    odds = ((1 - p) / p)[:, None]
    return np.asarray(excess(p, largest, rates) + a - np.log(1 - (np.exp(a) - 1) * odds))


def excess(p: Floats, largest: Floats, rates: Floats) -> Floats:
    """Return λb less the largest bet, where that is above 0: what any example, 0 < p < 1, adds to C."""
    return np.maximum(0.0, rates * largest[:, None] - largest_bet(p)[:, None])


def cost_of_passing(p: Floats, largest: Floats, rates: Floats) -> Floats:
    """Return the sum of `excess` over examples that were not queried, without a term for every rate.

    The terms above 0 are those of the rates above an example's own, bet/b. So rates are passed from below,
    with the sums of b and of the bets of the examples whose own rate lies below.
    """
    bet = largest_bet(p)
    own = np.divide(bet, largest, out=np.full_like(bet, np.inf), where=largest > 0)
    first = rates.searchsorted(own)
    slope, taken = (np.bincount(first, w, len(rates) + 1)[:-1].cumsum() for w in (largest, bet))
    return np.asarray(np.maximum(0.0, rates * slope - taken))


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
