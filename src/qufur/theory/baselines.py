"""Baselines: uniform querying, and the oracle with known domains (Section 3.2, Theorems 6 and 14)."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats, as_count, as_noise, as_number
from qufur.rules.domain_oracle import domain_rates
from qufur.theory.concentration import linear_uncertainties, mean_at_most, total_at_most
from qufur.theory.structure import Bounds, Structure, as_chance, clipped_noise, log_price


def uniform_bounds(
    dim: int,
    horizon: int,
    rate: float,
    *,
    noise: float = 1.0,
    norm_bound: float = 1.0,
    delta: float | None = None,
) -> Bounds:
    """Return bounds on Q and R of querying every label with probability μ: Õ(η̃² d/μ) regret (Theorem 6).

    With S = η̃² min{T, 2d ln(1 + C²T/d)}, E[Q] = μT and E[R] ≤ κS/μ, κ = max(4, 1 + η²)/η̃². With a δ
    the constants are those of `qufur_bounds`. The paper states expectations "with probability 1 − δ"; this
    function returns one or the other, and bounds the expectation directly, without the paper's tail bounds.

    Parameters
    ----------
    dim, horizon
        d and T, at least 1.
    rate
        μ in (0, 1].
    noise, norm_bound
        η ≥ 0 and C > 0 as in `qufur_bounds`.
    delta
        None for E[Q] and E[R]; δ in (0, 1) for bounds that hold with probability 1 − δ.

    Examples
    --------
    >>> uniform_bounds(dim=2, horizon=10_000, rate=0.25)
    Bounds(queries=2500.0, regret=545.1...)
    """
    as_number(rate, "rate", "uniform_bounds", low=0, high=1)
    return _fixed_rate_bounds(
        Structure([horizon], [dim]), np.array([rate]), noise, norm_bound, delta, "uniform_bounds"
    )


def oracle_bounds(
    structure: Structure,
    budget: int,
    *,
    noise: float = 1.0,
    norm_bound: float = 1.0,
    delta: float | None = None,
) -> Bounds:
    """Return bounds on Q and R of querying domain u with its optimal probability μ_u (Section 3.2).

    Applies `uniform_bounds` to each domain at the rate of `domain_rates`: E[R] ≤ κ Σ_u S_u/μ_u.

    Examples
    --------
    >>> oracle_bounds(Structure([1000, 9000], [4, 1]), budget=1000).regret
    1534.64...
    """
    rates = domain_rates(structure.durations, structure.dims, as_count(budget, "budget", "oracle_bounds"))
    return _fixed_rate_bounds(structure, rates, noise, norm_bound, delta, "oracle_bounds")


def oracle_order(structure: Structure, budget: int, *, noise: float = 1.0) -> Bounds:
    """Return Σ μ_u T_u and η̃² Σ d_u/μ_u at the optimal rates, inside the Õ's of Section 3.2.

    For B up to `largest_budget` the regret is η̃² (Σ √(d_u T_u))²/B, as for Fixed-Budget QuFUR; for a larger B
    the oracle buys every label of some domains, and `QuFUR(oracle_alpha)` still has the same order (appendix
    on large budgets).

    Examples
    --------
    >>> oracle_order(Structure([100, 900], [4, 1]), budget=125)
    Bounds(queries=125.0, regret=20.0)
    """
    budget = as_count(budget, "budget", "oracle_order")
    rates = domain_rates(structure.durations, structure.dims, budget)
    T, d = structure.arrays
    eta = clipped_noise(as_noise(noise, "oracle_order"))
    return Bounds(queries=float(rates @ T), regret=eta**2 * float((d / rates).sum()))


def oracle_threshold(structure: Structure, budget: int) -> float:
    """Return τ such that μ_u = min(1, √(d_u/T_u)/τ) (Theorem 14, and the footnote to Section 3.2).

    The oracle buys every label of the domains with √(d_u/T_u) ≥ τ; 1/τ is the theorem's constant C. When
    B ≥ T it buys every label, and the function returns the largest τ with which it does.

    Examples
    --------
    >>> oracle_threshold(Structure([10, 1000], [10, 1]), budget=110)
    0.316...
    """
    rates = domain_rates(structure.durations, structure.dims, as_count(budget, "budget", "oracle_threshold"))
    T, d = structure.arrays
    ideal_rates = np.sqrt(d / T)
    smallest = int(np.argmin(ideal_rates))
    return float(ideal_rates[smallest] / rates[smallest])


def oracle_alpha(structure: Structure, budget: int, *, noise: float = 1.0) -> float:
    """Return α = 1/(τη̃)², with which QuFUR(α) matches the oracle of budget B (appendix on large budgets).

    Examples
    --------
    >>> round(oracle_alpha(Structure([10, 1000], [10, 1]), budget=110), 9)
    10.0
    """
    eta = clipped_noise(as_noise(noise, "oracle_alpha"))
    return 1 / (oracle_threshold(structure, budget) * eta) ** 2


def _fixed_rate_bounds(
    structure: Structure, rates: Floats, noise: float, norm_bound: float, delta: float | None, owner: str
) -> Bounds:
    horizon, delta = structure.horizon, as_chance(delta, owner)
    bounds = linear_uncertainties(structure.arrays, horizon, noise, norm_bound, delta, owner)
    mean = mean_at_most(bounds.weights, bounds.largest, log_price(delta, 4 * len(rates)))
    labels = total_at_most(float(rates @ bounds.durations), 1.0, log_price(delta, 4))
    regret = np.minimum(4 * bounds.durations, bounds.factor * mean / rates)
    return Bounds(queries=min(float(horizon), labels), regret=float(regret.sum()))
