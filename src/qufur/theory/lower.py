"""Lower bounds on the regret of every learner (Theorems 3 and 7)."""

from __future__ import annotations

import math

from qufur.arrays import as_count, as_noise
from qufur.errors import invalid
from qufur.theory.structure import Structure

SMALLEST_NOISE = 0.5
"""Bernoulli labels are sub-Gaussian with η = ½, and no smaller η suffices for all of them."""


def regret_lower_bound(structure: Structure, budget: int, *, noise: float = 1.0) -> float:
    """Return (Σ √(d_u T_u))²/(7500 B), a lower bound on every learner's worst expected regret (Theorem 3).

    The adversary is `streams.LowerBound`. The constant is the proof's, 3 · 4 · 25²: B + 2 Σ d_u ≤ 3B, the
    factor ¼ (printed ½ once), and E √f ≥ 1/25 of Lemma 9. Lemma 8 assumes that the labels of a direction,
    given their number, are binomial. That holds for learners whose queries do not depend on labels. It fails
    for a learner that buys one label, and a second only if the first is 0: given one label, θ̂ = 2/3 has no
    error at θ = 2/3. The constant is nevertheless valid: the van Trees inequality, which allows such
    learners, gives 1/1434 for the same adversary.

    Parameters
    ----------
    structure
        (T_u, d_u) with d_u ≤ T_u, in an ambient space of at least Σ d_u dimensions.
    budget
        B ≥ Σ d_u, which the learner's E[Q] may not exceed.
    noise
        η ≥ ½. The theorem states η ≥ 1; the labels are Bernoulli draws, for which η ≥ ½ suffices.

    Examples
    --------
    >>> regret_lower_bound(Structure([7500, 7500], [1, 1]), budget=30)
    0.1333...
    """
    owner = "regret_lower_bound"
    check_lower(structure, noise, owner)
    budget = as_count(budget, "budget", owner)
    if budget < sum(structure.dims):
        raise invalid("budget", owner, f"at least Σ d_u = {sum(structure.dims)}", budget)
    return structure.root_sum**2 / (7500 * budget)


def unstructured_lower_bound(dim: int, horizon: int, budget: int) -> float:
    """Return dT/(7500 B), the lower bound without domain structure, for d ≤ T and d ≤ B (Theorem 7).

    Examples
    --------
    >>> unstructured_lower_bound(dim=4, horizon=30_000, budget=16)
    1.0
    """
    return regret_lower_bound(Structure([horizon], [dim]), budget)


def bayes_risk(labels: int) -> float:
    """Return 1/(6(n + 2)), the least expected squared error after n labels of one direction.

    It is the mean, over θ* uniform on [0, 1] and n Bernoulli draws, of the variance of
    Beta(1 + N⁺, 1 + n − N⁺), the posterior in the proof of Theorem 3. n must not depend on the labels.

    Examples
    --------
    >>> bayes_risk(0), bayes_risk(10)
    (0.0833..., 0.0138...)
    """
    if labels != 0:
        as_count(labels, "labels", "bayes_risk", remedy="Before the first label it is 0.")
    return 1 / (6 * (labels + 2))


def bayes_lower_bound(structure: Structure, budget: int) -> float:
    """Return (Σ √n_i)²/(6(B + 2 Σ d_u)), a lower bound on the mean regret over the adversary's θ*.

    Direction i occurs n_i times. The bound follows from `bayes_risk` at the total number of labels of each
    direction, by the Cauchy-Schwarz step of the proof of Theorem 3. It holds for learners whose queries do
    not depend on labels: every rule of this library over a label-free model. It is at least 200 times the
    bound of the theorem.

    Parameters
    ----------
    structure
        (T_u, d_u) with d_u ≤ T_u.
    budget
        B ≥ 1, at least E[Q].

    Examples
    --------
    >>> bayes_lower_bound(Structure([7500, 7500], [1, 1]), budget=30)
    147.05...
    """
    structure.check_full("bayes_lower_bound")
    budget = as_count(budget, "budget", "bayes_lower_bound")
    roots = 0.0
    for T_u, d_u in zip(structure.durations, structure.dims, strict=True):
        repeats = T_u // d_u
        roots += (d_u - 1) * math.sqrt(repeats) + math.sqrt(T_u - (d_u - 1) * repeats)
    return roots**2 / (6 * (budget + 2 * sum(structure.dims)))


def check_lower(structure: Structure, noise: float, owner: str) -> None:
    """Check the assumptions of the lower bounds: d_u ≤ T_u, and noise that Bernoulli labels can have."""
    structure.check_full(owner)
    if as_noise(noise, owner) < SMALLEST_NOISE:
        raise invalid("noise", owner, f"at least {SMALLEST_NOISE}", noise)
