"""Bounds of fixed-budget QuFUR (Theorem 2)."""

from __future__ import annotations

import numpy as np

from qufur.arrays import as_count, as_noise
from qufur.rules.fixed_budget import FixedBudget
from qufur.theory.concentration import Uncertainties, adaptive_query_bounds, linear_uncertainties
from qufur.theory.structure import Bounds, Structure, as_delta, clipped_noise


def fixed_budget_bounds(
    structure: Structure, budget: int, *, noise: float = 1.0, norm_bound: float = 1.0, delta: float = 0.05
) -> Bounds:
    """Return bounds on Q and R of Fixed-Budget QuFUR; R's holds with probability 1 − δ (Theorem 2).

    Q ≤ B by construction. Copy i has α_i = 2^i/T² and ⌊B/K⌋ labels, K = ⌈3 log₂ T⌉ + 1 (the paper counts one
    copy too few). A copy whose query bound of Theorem 1 is below ⌊B/K⌋ never runs out of labels, and its
    regret bound holds for the whole algorithm; the result is that of the copy with the largest such α. The
    proof hides Theorem 1's constants in one C = polylog(T, 1/δ); with explicit constants no range of B is
    needed. If no copy is guaranteed enough labels, as for streams of up to some 10⁵ examples, the bound is
    the trivial 4T.

    Parameters
    ----------
    structure
        (T_u, d_u) of a partition of the stream.
    budget
        B, at least K.
    noise, norm_bound
        η ≥ 0 and C > 0 as in `qufur_bounds`.
    delta
        δ in (0, 1).

    Examples
    --------
    >>> fixed_budget_bounds(Structure([10**8], [1]), budget=10**7)
    Bounds(queries=10000000.0, regret=11219960.0...)
    """
    owner = "fixed_budget_bounds"
    horizon, delta = structure.horizon, as_delta(delta, owner)
    uncertainties = linear_uncertainties(structure.arrays, horizon, noise, norm_bound, delta, owner)
    return best_copy(FixedBudget(budget, horizon), uncertainties)


def best_copy(rule: FixedBudget, uncertainties: Uncertainties) -> Bounds:
    """Return B and the regret bound of the copy with the largest α that never runs out (Lemmas 3 and 4)."""
    share, regret = rule.caps()[0], 4.0 * rule.horizon
    for alpha in rule.alphas:
        copy = adaptive_query_bounds(uncertainties, float(alpha))
        if copy.queries < share:
            regret = min(regret, copy.regret)
    return Bounds(queries=float(min(rule.budget, rule.horizon)), regret=regret)


def fixed_budget_order(structure: Structure, budget: int, *, noise: float = 1.0) -> float:
    """Return η̃² (Σ √(d_u T_u))²/B, the regret inside the Õ of Theorem 2; for B up to `largest_budget`.

    For one domain it is dT/B. For the example in the introduction, (d, T) = (d, d) and (1, T − d), it is
    O((T + d²)/B); the paper omits the B.

    Examples
    --------
    >>> fixed_budget_order(Structure([100, 900], [4, 1]), budget=125)
    20.0
    """
    budget = as_count(budget, "budget", "fixed_budget_order")
    return (clipped_noise(as_noise(noise, "fixed_budget_order")) * structure.root_sum) ** 2 / budget


def largest_budget(structure: Structure) -> float:
    """Return Σ √(d_u T_u) · min √(T_u/d_u), the largest B of Theorem 2 up to logarithms.

    Up to this budget the domain-aware oracle buys no domain completely (Section 3.2).

    Examples
    --------
    >>> largest_budget(Structure([100, 900], [4, 1]))
    250.0
    """
    T, d = structure.arrays
    return structure.root_sum * float(np.sqrt(T / d).min())
