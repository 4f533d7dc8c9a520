"""Non-linear QuFUR against adaptive adversaries (Theorems 4 and 5)."""

from __future__ import annotations

import math

import numpy as np

from qufur.arrays import Floats, as_count, as_noise, as_number
from qufur.errors import invalid
from qufur.hypotheses.base import squared_radius
from qufur.rules.fixed_budget import FixedBudget
from qufur.theory.concentration import Uncertainties, adaptive_query_bounds
from qufur.theory.fixed_budget import best_copy
from qufur.theory.structure import Bounds, Structure, as_delta

LARGEST = 4.0  # Δ = (f₁(x) − f₂(x))² for functions into [−1, 1]


def confidence_radius(
    labels: int, *, log_covering: float, horizon: int, noise: float = 1.0, delta: float = 0.05
) -> float:
    """Return β_k, the squared radius of the confidence set after k labels (Equation "beta_k").

    β_k = 8η² ln(4𝒩/δ) + (2k/T²)(16 + √(2η² ln(16k²/δ))), and at k = 0, where the last logarithm is undefined,
    only its first term. The proposition of Russo and Van Roy, of which it is an instance, has 8 in place of
    the 2 under the root. Either covers the discretisation error 2k/T² · (6 + 2√(2η² ln(16k²/δ))) if that root
    is at most 10.

    Parameters
    ----------
    labels
        k ≥ 0, number of labels so far.
    log_covering
        ln 𝒩(F, 1/T², ‖·‖_∞) ≥ 0; see `finite_log_covering` and `linear_log_covering`.
    horizon
        T ≥ 1.
    noise, delta
        η ≥ 0 and δ in (0, 1).

    Examples
    --------
    >>> confidence_radius(100, log_covering=math.log(50), horizon=1000)
    66.356...
    """
    owner = "confidence_radius"
    if labels != 0:
        as_count(labels, "labels", owner, remedy="Before the first label it is 0.")
    noise, delta = as_noise(noise, owner), as_delta(delta, owner)
    horizon = as_count(horizon, "horizon", owner)
    if not 0 <= log_covering < math.inf:
        raise invalid("log_covering", owner, "a finite number of at least 0", repr(log_covering))
    return squared_radius(labels, log_covering, horizon, noise, delta)


def domain_complexity(
    structure: Structure, *, log_covering: float, noise: float = 1.0, delta: float = 0.05
) -> Floats:
    """Return R_u, an upper bound on Σ q_t Δ_t over domain u (Lemma 6).

    R_u = min{4T_u, 1/T_u³ + 4 min(d′_u, T_u) + 4 d′_u β_T (1 + ln T_u)}. It differs from the paper in two
    terms. The paper bounds Σ_{j ≤ T_u − d′} 1/j by ln T_u, which is smaller (2.30 against 2.83 for T_u = 10,
    d′ = 1). And it ignores Δ below 1/T⁴, where d′_u, which is defined at ε = 1/T_u², does not apply; with the
    threshold 1/T_u⁴ the ignored Δ sum to at most 1/T_u³, in place of T_u/T².

    Parameters
    ----------
    structure
        Durations T_u and, as dims, the eluder dimensions d′_u = dim_E(F, 1/T_u²) on the inputs of domain u.
    log_covering, noise, delta
        As in `confidence_radius`.

    Examples
    --------
    >>> domain_complexity(Structure([100, 10_000], [1, 3]), log_covering=math.log(50)).round(1)
    array([ 400. , 8142.3])
    """
    (T, d), horizon = structure.arrays, structure.horizon
    beta = confidence_radius(horizon, log_covering=log_covering, horizon=horizon, noise=noise, delta=delta)
    summed = T**-3.0 + 4 * np.minimum(d, T) + 4 * d * beta * (1 + np.log(T))
    return np.asarray(np.minimum(LARGEST * T, summed))


def nonlinear_bounds(
    structure: Structure, alpha: float, *, log_covering: float, noise: float = 1.0, delta: float = 0.05
) -> Bounds:
    """Return bounds on Q and R of non-linear QuFUR(α), with probability 1 − δ (Theorem 5).

    The proof is that of Theorem 1 with S_u = R_u of `domain_complexity`, Δ ≤ 4 and R ≤ Σ Δ_t. Up to
    logarithms, Q = Õ(√α Σ √(R_u T_u)) and R = Õ(Σ √(R_u T_u)/√α) for α ≤ min T_u/R_u. The theorem has a
    further factor η̃ in each, which the proof does not need because R_u includes it; Theorem 4 omits it,
    too.

    Parameters
    ----------
    structure
        (T_u, d′_u) of an admissible partition (Definition 1): the domain of x_t depends on the past and x_t.
    alpha
        α > 0.
    log_covering, noise, delta
        As in `confidence_radius`.

    Examples
    --------
    >>> nonlinear_bounds(Structure([10**6], [1]), alpha=0.01, log_covering=math.log(5))
    Bounds(queries=11615.2..., regret=675727.5...)
    """
    alpha = as_number(alpha, "alpha", "nonlinear_bounds", low=0)
    weights = domain_complexity(structure, log_covering=log_covering, noise=noise, delta=delta)
    return adaptive_query_bounds(Uncertainties(structure.arrays[0], weights, LARGEST, 1.0, delta), alpha)


def nonlinear_budget_bounds(
    structure: Structure, budget: int, *, log_covering: float, noise: float = 1.0, delta: float = 0.05
) -> Bounds:
    """Return bounds on Q ≤ B and, with probability 1 − δ, on R of Algorithm 4 (Theorem 4).

    The argument is that of `fixed_budget_bounds`, with the same K copies (the paper's 3⌈log₂ T⌉ is also one
    too few).

    Examples
    --------
    >>> nonlinear_budget_bounds(Structure([10**7], [1]), 10**7, log_covering=math.log(5)).regret
    774090.2...
    """
    weights = domain_complexity(structure, log_covering=log_covering, noise=noise, delta=delta)
    uncertainties = Uncertainties(structure.arrays[0], weights, LARGEST, 1.0, delta)
    return best_copy(FixedBudget(budget, structure.horizon), uncertainties)


def nonlinear_budget_order(
    structure: Structure, budget: int, *, log_covering: float, noise: float = 1.0, delta: float = 0.05
) -> float:
    """Return (Σ √(R_u T_u))²/B, the regret inside the Õ of Theorem 4.

    It holds for B up to Σ √(R_u T_u) · min √(T_u/R_u); the paper prints the fraction inverted.

    Examples
    --------
    >>> round(nonlinear_budget_order(Structure([10**6], [1]), 10**5, log_covering=math.log(5)))
    28...
    """
    weights = domain_complexity(structure, log_covering=log_covering, noise=noise, delta=delta)
    budget = as_count(budget, "budget", "nonlinear_budget_order")
    return float(np.sqrt(weights * structure.arrays[0]).sum()) ** 2 / budget


def finite_log_covering(count: int) -> float:
    """Return ln|F|, the log covering number of a finite class at any ε.

    Examples
    --------
    >>> finite_log_covering(50)
    3.912...
    """
    return math.log(as_count(count, "count", "finite_log_covering", remedy="An empty class fits nothing."))


def linear_log_covering(dim: int, epsilon: float, *, norm_bound: float = 1.0, slope: float = 1.0) -> float:
    """Return d ln(1 + 2CL/ε), a bound on ln 𝒩(F, ε, ‖·‖_∞) for x ↦ g(⟨θ, x⟩), ‖θ‖ ≤ C and ‖x‖ ≤ 1.

    A ball of radius C has an ε/L-net of (1 + 2CL/ε)^d points, and g is L-Lipschitz; L = 1 is the linear
    class, L = ¼ a logistic link into [0, 1].

    Examples
    --------
    >>> linear_log_covering(3, 1e-6)
    43.525...
    """
    dim = as_count(dim, "dim", "linear_log_covering")
    epsilon, C, L = (
        as_number(value, name, "linear_log_covering", low=0)
        for name, value in (("epsilon", epsilon), ("norm_bound", norm_bound), ("slope", slope))
    )
    return dim * math.log1p(2 * C * L / epsilon)
