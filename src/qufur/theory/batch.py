"""Online-to-batch conversion: bounds on the excess risk on new data (Theorems 11 and 12)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats, as_count, as_noise
from qufur.errors import invalid
from qufur.rules.fixed_budget import FixedBudget
from qufur.theory.concentration import linear_uncertainties
from qufur.theory.fixed_budget import best_copy
from qufur.theory.structure import clipped_noise


def online_to_batch(regret: float, horizon: int) -> float:
    """Return R/T, which bounds the expected excess risk of a uniform draw of f̂_1..f̂_T (Theorem 11).

    For the square loss the average of the f̂_t does no worse, by convexity.

    Parameters
    ----------
    regret
        A bound on E[Reg], which equals E[R] (Theorem 10).
    horizon
        T, the length of a run on iid examples.

    Examples
    --------
    >>> online_to_batch(12.5, 1000)
    0.0125
    """
    if not (isinstance(regret, numbers.Real) and 0 <= regret < math.inf):
        raise invalid("regret", "online_to_batch", "a finite number of at least 0", repr(regret))
    return float(regret) / as_count(horizon, "horizon", "online_to_batch")


def batch_bound(
    shares: Sequence[float],
    dims: Sequence[int],
    budget: int,
    horizon: int,
    *,
    noise: float = 1.0,
    norm_bound: float = 1.0,
) -> float:
    """Return a bound on the expected excess risk of Fixed-Budget QuFUR on a mixture of domains (Theorem 12).

    With probability 1 − Σ exp(−T p_u/3) no domain has more than 2T p_u examples (Chernoff). In that case
    `fixed_budget_bounds` holds at δ = 1/T²; otherwise R ≤ 4T. The proof also bounds the T_u from below, but
    needs this only for the range of B.

    Parameters
    ----------
    shares
        p_u > 0, the mixture's weights, which sum to 1.
    dims
        d_u of the subspace that component u lies in.
    budget, horizon
        B, at least the number of copies, and T.
    noise, norm_bound
        η ≥ 0 and C > 0 as in `qufur_bounds`.

    Examples
    --------
    >>> batch_bound([0.1, 0.9], [2, 1], budget=10**8, horizon=10**9)
    0.133...
    """
    p, d = _mixture(shares, dims, "batch_bound")
    rule, T = FixedBudget(budget, horizon), float(horizon)
    delta, max_durations = min(0.5, 1 / T**2), T * np.minimum(1, 2 * p)
    uncertainties = linear_uncertainties((max_durations, d), horizon, noise, norm_bound, delta, "batch_bound")
    regret = best_copy(rule, uncertainties).regret
    failure = delta + np.exp(-T * p[2 * p < 1] / 3).sum()
    return min(4.0, online_to_batch(regret, horizon) + 4 * float(failure))


def batch_order(shares: Sequence[float], dims: Sequence[int], budget: int, *, noise: float = 1.0) -> float:
    """Return η̃² (Σ √(d_u p_u))²/B, the excess risk inside the O of Theorem 12, for T ≥ `batch_horizon`.

    Examples
    --------
    >>> batch_order([0.2, 0.8], [5, 5], budget=90)
    0.1
    """
    p, d = _mixture(shares, dims, "batch_order")
    eta = clipped_noise(as_noise(noise, "batch_order"))
    return eta**2 * float(np.sqrt(d * p).sum()) ** 2 / as_count(budget, "budget", "batch_order")


def batch_horizon(shares: Sequence[float], dims: Sequence[int], budget: int) -> int:
    """Return the smallest T to which Theorem 12 applies.

    This is the smallest T with T ≥ 2B/(Σ √(d_u p_u) · min √(p_u/d_u)) and, if there are several domains,
    T min p_u ≥ 8 ln(2mT²), so that all T_u are in [T p_u/2, 2T p_u] with probability 1 − 1/T². The paper
    requires only T = Ω(ln m / min p_u), without ln T. With that, for every T, one of two domains with
    p_u = 8 ln 2/T does not occur at all with probability 1/256.

    Examples
    --------
    >>> batch_horizon([0.1, 0.9], [4, 1], budget=125), batch_horizon([0.01, 0.99], [4, 1], budget=125)
    (1253, 16663)
    """
    p, d = _mixture(shares, dims, "batch_horizon")
    budget = as_count(budget, "budget", "batch_horizon")
    T = 2 * budget / float(np.sqrt(d * p).sum() * np.sqrt(p / d).min())
    # The right-hand side grows slower than the left: fixed-point iteration from below converges.
    for _ in range(200 if len(p) > 1 else 0):
        T = max(T, 8 * math.log(2 * len(p) * T**2) / float(p.min()))
    return math.ceil(T)


def _mixture(shares: Sequence[float], dims: Sequence[int], owner: str) -> tuple[Floats, Floats]:
    p = np.asarray(shares, dtype=np.float64)
    if p.ndim != 1 or not (p > 0).all() or not math.isclose(p.sum(), 1, rel_tol=1e-9):
        raise invalid("shares", owner, "numbers above 0 that sum to 1", repr(shares))
    if np.ndim(dims) != 1 or len(dims) != len(p):
        raise invalid("dims", owner, f"a sequence of {len(p)}, one per share", repr(dims))
    return p, np.array([as_count(d_u, "each of dims", owner) for d_u in dims], dtype=np.float64)
