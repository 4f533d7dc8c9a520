"""The c-cost model: total cost W = cR + Q (Theorems 8 and 9)."""

from __future__ import annotations

import math

from qufur.arrays import as_noise, as_number
from qufur.errors import invalid
from qufur.theory.lower import check_lower
from qufur.theory.structure import Structure, clipped_noise
from qufur.theory.upper import qufur_bounds


def cost_bound(
    structure: Structure,
    cost_ratio: float,
    *,
    noise: float = 1.0,
    norm_bound: float = 1.0,
    delta: float | None = 0.05,
) -> float:
    """Return an upper bound on W = cR + Q of QuFUR(α = c), with probability 1 − δ (Theorem 9).

    Combines the bounds of Theorem 1 at α = c. The proof writes W = cQ + R; the model defines cR + Q.

    Parameters
    ----------
    structure
        (T_u, d_u) of a partition of the stream.
    cost_ratio
        c > 0, the number of labels that costs as much as a unit of regret; within `cost_ratio_range` the
        bound is near-optimal.
    noise, norm_bound, delta
        As in `qufur_bounds`; with delta None the bound is on E[W].

    Examples
    --------
    >>> cost_bound(Structure([10_000, 90_000], [4, 1]), cost_ratio=0.1, delta=None)
    3559.36...
    """
    cost_ratio = as_number(cost_ratio, "cost_ratio", "cost_bound", low=0)
    bounds = qufur_bounds(structure, cost_ratio, noise=noise, norm_bound=norm_bound, delta=delta)
    return bounds.cost(cost_ratio)


def cost_order(structure: Structure, cost_ratio: float) -> float:
    """Return √c Σ √(d_u T_u), the cost inside the Õ and the Ω of Theorems 8 and 9.

    The upper bound holds for η = O(1) and c in `cost_ratio_range`, the lower bound for every c above the
    lower end of that range.

    Examples
    --------
    >>> cost_order(Structure([100, 900], [4, 1]), cost_ratio=4.0)
    100.0
    """
    return math.sqrt(as_number(cost_ratio, "cost_ratio", "cost_order", low=0)) * structure.root_sum


def cost_lower_bound(structure: Structure, cost_ratio: float, *, noise: float = 1.0) -> float:
    """Return √c Σ √(d_u T_u)/7500, a lower bound on every learner's worst expected cost (Theorem 8).

    Either E[Q] ≥ B = √c Σ √(d_u T_u), or cE[R] is at least c times `regret_lower_bound` at B. The proof
    prints E[R] ≥ (Σ √(d_u T_u))²/B there, without the 1/7500.

    Parameters
    ----------
    structure
        (T_u, d_u) with d_u ≤ T_u.
    cost_ratio
        c ≥ max d_u/T_u, which makes B ≥ Σ d_u.
    noise
        η ≥ ½, as in `regret_lower_bound`.

    Examples
    --------
    >>> cost_lower_bound(Structure([7500, 7500], [1, 1]), cost_ratio=4.0)
    0.0461...
    """
    check_lower(structure, noise, "cost_lower_bound")
    T, d = structure.arrays
    smallest = float((d / T).max())
    if as_number(cost_ratio, "cost_ratio", "cost_lower_bound", low=0) < smallest:
        raise invalid("cost_ratio", "cost_lower_bound", f"at least max d_u/T_u = {smallest:g}", cost_ratio)
    return cost_order(structure, cost_ratio) / 7500


def cost_ratio_range(structure: Structure, *, noise: float = 1.0) -> tuple[float, float]:
    """Return [max d_u/T_u, min (T_u/d_u)/η̃²], the c for which QuFUR(c) is near-optimal (Theorem 9).

    The upper end is that of the theorem; its proof prints η̃² min T_u/d_u. The range is not empty if
    min T_u/d_u ≥ η̃, which the theorem assumes.

    Examples
    --------
    >>> cost_ratio_range(Structure([100, 900], [4, 1]))
    (0.04, 25.0)
    """
    T, d = structure.arrays
    ratios = T / d
    eta = clipped_noise(as_noise(noise, "cost_ratio_range"))
    if ratios.min() < eta:
        raise invalid("structure", "cost_ratio_range", f"of T_u/d_u at least η̃ = {eta:g}", ratios.min())
    return float((1 / ratios).max()), float(ratios.min()) / eta**2
