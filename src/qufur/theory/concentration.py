"""Lemmas shared by the upper bounds, with their constants."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats, as_noise, as_number
from qufur.theory.structure import Bounds, clipped_noise, log_price


class Uncertainties(NamedTuple):
    """Bounds on the uncertainties Δ_t, from which the bounds on Q and R follow.

    Attributes
    ----------
    durations
        T_u.
    weights
        S_u ≥ Σ q_t Δ_t over domain u.
    largest
        The largest possible Δ.
    factor
        κ with (ŷ_t − f*(x_t))² ≤ κΔ_t.
    delta
        δ in (0, 1), or None for bounds on expectations.
    """

    durations: Floats
    weights: Floats
    largest: float
    factor: float
    delta: float | None


def linear_uncertainties(
    domains: tuple[Floats, Floats],
    horizon: int,
    noise: float,
    norm_bound: float,
    delta: float | None,
    owner: str,
) -> Uncertainties:
    """Return S_u = η̃² min{T_u, 2 d_u ln(1 + C² T_u/d_u)} of (T_u, d_u), Δ ≤ η̃², and κ of `error_factor`."""
    noise, C = as_noise(noise, owner), as_number(norm_bound, "norm_bound", owner, low=0)
    largest = clipped_noise(noise) ** 2
    weights = largest * log_det_bound(*domains, C)
    return Uncertainties(domains[0], weights, largest, error_factor(noise, horizon, delta), delta)


def log_det_bound(durations: Floats, dims: Floats, norm_bound: float) -> Floats:
    """Return an upper bound on Σ min(1, ‖x_t‖² in M_t⁻¹) over the queried examples of each domain (Lemma 2).

    The bound is min{T_u, 2 d_u ln(1 + C² T_u / d_u)}, for ‖x‖ ≤ 1. The printed lemma lacks the factor 2,
    which it needs (one example of norm 1 in M⁻¹ would give 1 ≤ ln 2); the proof of Theorem 1 has it.

    Examples
    --------
    >>> log_det_bound(np.array([100.0]), np.array([4.0]), 1.0).round(2)
    array([26.06])
    """
    return np.minimum(durations, 2 * dims * np.log1p(norm_bound**2 * durations / dims))


def mean_at_most(total: Floats, largest: float, price: float) -> Floats:
    """Return a bound on Σ E_{t−1}[Z_t] from one on Σ Z_t, for 0 ≤ Z_t ≤ b.

    `total` bounds Σ Z_t, `largest` is b, and `price` is ln(1/δ).

    Σ E_{t−1}[Z_t] ≤ (Σ Z_t + b ln(1/δ)) e/(e − 1) with probability 1 − δ. The proofs cite Freedman's
    inequality with an unnamed constant and solve it for the left-hand side; this is the solved form,
    derived directly from the supermartingale exp(Σ (1 − 1/e) E_{t−1}[Z_t]/b − Z_t/b), and has no ln T. With
    price 0 the bound is on the expectation, which is the same for both sums.

    >>> float(mean_at_most(np.float64(10.0), 1.0, math.log(20)))
    20.5589...
    """
    return total if price == 0 else (total + largest * price) * math.e / (math.e - 1)


def total_at_most(mean: float, largest: float, price: float) -> float:
    """Return a bound on Σ Z_t from one on Σ E_{t−1}[Z_t]: (e − 1) Σ E_{t−1}[Z_t] + b ln(1/δ).

    The converse of `mean_at_most`, from the supermartingale exp(Σ Z_t/b − (e − 1) E_{t−1}[Z_t]/b).

    >>> total_at_most(10.0, 1.0, math.log(20))
    20.178...
    """
    return mean if price == 0 else (math.e - 1) * mean + largest * price


def error_factor(noise: float, horizon: float, delta: float | None) -> float:
    """Return κ such that (ŷ_t − ⟨θ*, x_t⟩)² ≤ κ Δ_t for all t with probability 1 − δ/2 (Lemma 1).

    κ = max(4, 4η² ln(4T/δ) + 2) / η̃². The last lines of the proof print 4η² ln(2T/δ′) + 4 instead, which is
    smaller than the quantity they bound if η² > 1/(2 ln 2). In expectation (δ None) the noise and the bias of
    least squares add without the logarithm, κ = max(4, 1 + η²)/η̃², because inputs and queries do not depend
    on the noise.

    Examples
    --------
    >>> error_factor(1.0, 1000, 0.05), error_factor(1.0, 1000, None)
    (47.159..., 4.0)
    """
    square = 1 + noise**2 if delta is None else 4 * noise**2 * math.log(4 * horizon / delta) + 2
    return max(4.0, square) / clipped_noise(noise) ** 2


def adaptive_query_bounds(uncertainties: Uncertainties, alpha: float) -> Bounds:
    """Return bounds on Q and R if example t is queried with probability min(1, αΔ_t) (proof of Theorem 1).

    P_u ≥ Σ p_t Δ_t is from `mean_at_most` at δ/(4m). Examples with αΔ_t > 1 add at most αS_u queries and S_u
    uncertainty; the other examples add at most √(αT_u P_u) and √(T_u P_u/α), by Cauchy-Schwarz.

    >>> adaptive_query_bounds(Uncertainties(np.array([1000.0]), np.array([20.0]), 1.0, 4.0, None), alpha=1.0)
    Bounds(queries=161.42..., regret=645.68...)
    """
    durations, weights, largest, factor, delta = uncertainties
    mean = mean_at_most(weights, largest, log_price(delta, 4 * len(durations)))
    labels = np.minimum(durations, alpha * weights + np.sqrt(alpha * durations * mean))
    uncertainty = weights + np.sqrt(durations * mean / alpha)
    return Bounds(
        queries=min(float(durations.sum()), total_at_most(float(labels.sum()), 1.0, log_price(delta, 4))),
        regret=float(np.minimum(4 * durations, factor * uncertainty).sum()),
    )
