"""Kernelised QuFUR and the effective dimension of a set of inputs (Theorem 13)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, as_inputs, as_noise, as_number
from qufur.errors import invalid
from qufur.theory.concentration import Uncertainties, adaptive_query_bounds, error_factor
from qufur.theory.structure import Bounds, Structure, as_chance, clipped_noise

ROUNDING = 1e-10
"""Tolerance for negative eigenvalues, per row and relative to the largest eigenvalue."""


def effective_dimension(
    X: ArrayLike, kernel: Callable[[Floats], Floats] | None = None, *, regularization: float = 1.0
) -> int:
    """Return d̃ = min{j : jλ ln s > Λ_j} of s inputs (Equation "def_tilde_d", appendix on kernels).

    Λ_j is the sum of the eigenvalues of the kernel matrix beyond the j largest. For s = 1 no j
    exists, because ln s = 0, and the result is 1.

    Parameters
    ----------
    X
        Inputs as rows; if `kernel` is None, their s × s kernel matrix.
    kernel
        Function from X to the kernel matrix, such as a kernel of `sklearn.gaussian_process`.
    regularization
        λ > 0.

    Notes
    -----
    The cost is O(s³).

    Examples
    --------
    >>> inputs = np.linspace(0, 1, 100)[:, None]
    >>> effective_dimension(inputs, lambda X: np.exp(-((X - X.T) ** 2) / 0.02), regularization=0.1)
    8
    """
    lam = as_number(regularization, "regularization", "effective_dimension", low=0)
    X = as_inputs(X, None, "effective_dimension")
    values = _eigenvalues(X if kernel is None else np.asarray(kernel(X), dtype=np.float64))
    beyond = np.append(np.cumsum(values[::-1])[::-1][1:], 0.0)
    enough = np.arange(1, len(values) + 1) * lam * np.log(len(values)) > beyond
    return int(np.argmax(enough)) + 1 if enough.any() else 1


def kernel_bounds(
    structure: Structure,
    alpha: float,
    *,
    noise: float = 1.0,
    regularization: float = 1.0,
    delta: float | None = 0.05,
) -> Bounds:
    """Return bounds on Q and R of kernelised QuFUR(α), with probability 1 − δ (Theorem 13).

    Equals `qufur_bounds` with S_u = η̃² min{T_u, 2 d̃_u (ln(1 + T_u/(λd̃_u)) + ln T_u)}: the d̃_u largest
    eigenvalues of the domain's kernel matrix sum to at most T_u, the others to at most λ d̃_u ln T_u. The
    factor 2 is that of the log-determinant lemma. The paper has 4 + 6/λ instead, from a lemma on eigenvalues
    (Lemma 11) that is false as printed, and derives the first logarithm from an optimization problem whose
    printed optimum is not optimal: with d̃ = 2, s = 10 and λ = 1 it gives 4.04, while all ε on the first
    coordinate and all α on the second give 10. The Õ(d̃_u) of Lemma 12 holds.

    Parameters
    ----------
    structure
        Its dims are the effective dimensions d̃_u of the inputs of each domain.
    alpha, noise, delta
        As in `qufur_bounds`.
    regularization
        λ = 1/C² > 0 with ‖θ*‖ ≤ C; requires k(x, x) ≤ 1.

    Examples
    --------
    >>> kernel_bounds(Structure([5000, 20000], [6, 3]), alpha=10.0, delta=None)
    Bounds(queries=10714.2..., regret=4285.6...)
    """
    alpha = as_number(alpha, "alpha", "kernel_bounds", low=0)
    noise, delta = as_noise(noise, "kernel_bounds"), as_chance(delta, "kernel_bounds")
    lam = as_number(regularization, "regularization", "kernel_bounds", low=0)
    (T, d), largest = structure.arrays, clipped_noise(noise) ** 2
    weights = largest * np.minimum(T, 2 * d * (np.log1p(T / (lam * d)) + np.log(T)))
    factor = error_factor(noise, structure.horizon, delta)
    return adaptive_query_bounds(Uncertainties(T, weights, largest, factor, delta), alpha)


def _eigenvalues(gram: Floats) -> Floats:
    """Return the eigenvalues of a kernel matrix, largest first; raise if the matrix is not valid."""
    from scipy.linalg import eigvalsh

    owner = "effective_dimension"
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise invalid("the kernel matrix", owner, "square", f"shape {gram.shape}")
    if not (np.isfinite(gram).all() and np.allclose(gram, gram.T, rtol=1e-8, atol=1e-12)):
        raise invalid("the kernel matrix", owner, "finite and symmetric", "one that is not")
    values = np.asarray(eigvalsh(gram)[::-1], dtype=np.float64)
    if values[-1] < -ROUNDING * len(values) * max(values[0], 0.0) or values[0] < 0:
        received = f"an eigenvalue of {values[-1]:.3g}"
        raise invalid("the kernel matrix", owner, "positive semi-definite", received)
    return np.maximum(values, 0.0)
