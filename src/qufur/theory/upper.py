"""Bounds on the queries and the regret of QuFUR(α) (Theorem 1)."""

from __future__ import annotations

import numpy as np

from qufur.arrays import as_count, as_noise, as_number
from qufur.theory.concentration import adaptive_query_bounds, linear_uncertainties
from qufur.theory.structure import Bounds, Structure, as_chance, clipped_noise


def qufur_bounds(
    structure: Structure,
    alpha: float,
    *,
    noise: float = 1.0,
    norm_bound: float = 1.0,
    delta: float | None = 0.05,
) -> Bounds:
    """Return bounds on Q and R of QuFUR(α) that hold together with probability 1 − δ (Theorem 1).

    With S_u = η̃² min{T_u, 2 d_u ln(1 + C² T_u/d_u)} and P_u = (S_u + η̃² ln(4m/δ)) e/(e − 1)::

        Q ≤ (e − 1) Σ_u min{T_u, αS_u + √(αT_u P_u)} + ln(4/δ)
        R ≤ Σ_u min{4T_u, κ (S_u + √(T_u P_u/α))},   κ = max(4, 4η² ln(4T/δ) + 2)/η̃²

    The constants are those of the proof; `concentration` derives them. The last display of the proof prints
    Σ Δ_t² in place of Σ Δ_t.

    Parameters
    ----------
    structure
        (T_u, d_u) of any partition of the stream that is fixed in advance.
    alpha
        α > 0.
    noise
        η ≥ 0, sub-Gaussian with variance proxy η².
    norm_bound
        C > 0 with ‖θ*‖ ≤ C; inputs have norm at most 1 and |⟨θ*, x⟩| ≤ 1 (the paper omits the bars).
    delta
        δ in (0, 1). None for bounds on E[Q] and E[R], which have no logarithms of δ.

    Examples
    --------
    >>> qufur_bounds(Structure([5000, 20000], [6, 3]), alpha=10.0, delta=None)
    Bounds(queries=6595.0..., regret=2638.0...)
    """
    owner = "qufur_bounds"
    alpha = as_number(alpha, "alpha", owner, low=0)
    horizon, delta = structure.horizon, as_chance(delta, owner)
    uncertainties = linear_uncertainties(structure.arrays, horizon, noise, norm_bound, delta, owner)
    return adaptive_query_bounds(uncertainties, alpha)


def subsequence_bounds(
    length: int,
    dim: int,
    alpha: float,
    *,
    noise: float = 1.0,
    norm_bound: float = 1.0,
    delta: float | None = 0.05,
) -> Bounds:
    """Return bounds on Q and R of QuFUR(α) within any subsequence I of the stream.

    These are the constants of the remark "Novel notion of adaptive regret" after Theorem 1. The proof does
    not depend on the examples outside of I, so I counts as one domain of |I| examples in d_I dimensions,
    wherever in the stream they occur. I is fixed in advance; for n subsequences divide δ by n.

    Examples
    --------
    >>> subsequence_bounds(400, 3, alpha=1.0) == qufur_bounds(Structure([400], [3]), alpha=1.0)
    True
    """
    for name, value in (("length", length), ("dim", dim)):
        as_count(value, name, "subsequence_bounds")
    return qufur_bounds(Structure([length], [dim]), alpha, noise=noise, norm_bound=norm_bound, delta=delta)


def qufur_order(structure: Structure, alpha: float, *, noise: float = 1.0) -> Bounds:
    """Return the orders of Q and R in Theorem 1, without logarithms and constants.

    Q: Σ_u min{T_u, η̃ √(α d_u T_u)} + 1.  R: Σ_u max{η̃² d_u, η̃ √(d_u T_u/α)}. For α in `alpha_range` they
    are η̃ √α Σ √(d_u T_u), up to the 1, and η̃ Σ √(d_u T_u)/√α, so that Q ≈ αR. With effective dimensions these
    are the orders of Theorem 13 (kernels).

    Examples
    --------
    >>> qufur_order(Structure([100, 900], [4, 1]), alpha=4.0)
    Bounds(queries=101.0, regret=25.0)
    """
    alpha = as_number(alpha, "alpha", "qufur_order", low=0)
    eta = clipped_noise(as_noise(noise, "qufur_order"))
    T, d = structure.arrays
    return Bounds(
        queries=float(np.minimum(T, eta * np.sqrt(alpha * d * T)).sum()) + 1,
        regret=float(np.maximum(eta**2 * d, eta * np.sqrt(d * T / alpha)).sum()),
    )


def alpha_range(structure: Structure, *, noise: float = 1.0) -> tuple[float, float]:
    """Return the range of α in which Q ≈ αR: [1/(Σ √(d_u T_u))², min T_u/d_u] / η̃² (after Theorem 1).

    Examples
    --------
    >>> alpha_range(Structure([100, 900], [4, 1]))
    (0.0004, 25.0)
    """
    square = clipped_noise(as_noise(noise, "alpha_range")) ** 2
    T, d = structure.arrays
    return 1 / (square * structure.root_sum**2), float((T / d).min()) / square
