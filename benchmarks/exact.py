"""Least squares without rounding: integer sums, and a solve with 60 digits."""

from __future__ import annotations

import mpmath
import numpy as np

from qufur.arrays import Floats

DIGITS = 60
FRACTION_BITS = 108
LIMB_BITS = 16
LIMBS = 8
CHUNK = 2**16
"""Rows per product of limbs.

Numbers below 2^20 on a grid of 2^-108 have 8 limbs of 16 bits. 2^16 products of two limbs add up to less than
2^48, so that a floating-point matrix product of limbs is exact in any order of summation.
"""


def on_grid(values: Floats) -> Floats:
    """Round to representable numbers; only digits below 2^-108 change."""
    return np.ldexp(np.rint(np.ldexp(values, FRACTION_BITS)), -FRACTION_BITS)


class ExactGram:
    """Exact sums Σ x xᵀ and Σ x y."""

    def __init__(self, dim: int) -> None:
        self._sums = np.zeros((dim + 1, dim + 1), dtype=object)

    def add(self, X: Floats, y: Floats) -> None:
        """Add rows with labels."""
        for start in range(0, len(X), CHUNK):
            rows = slice(start, start + CHUNK)
            self._sums += _products(np.column_stack([X[rows], y[rows]]))

    def solve(self, probes: Floats, regularization: float) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
        """Return ‖x‖² in M⁻¹ and ⟨θ̂, x⟩ for each probe."""
        dim = probes.shape[1]
        with mpmath.workdps(DIGITS):
            sums = mpmath.matrix(self._sums.tolist()) / mpmath.mpf(2) ** (2 * FRACTION_BITS)
            inverse = (sums[:dim, :dim] + regularization * mpmath.eye(dim)) ** -1
            theta = inverse * sums[:dim, dim]
            columns = [mpmath.matrix(probe.tolist()) for probe in probes]
            variances = [(x.T * inverse * x)[0] for x in columns]
            return variances, [(x.T * theta)[0] for x in columns]


def relative_error(got: Floats, exact: list[mpmath.mpf], ignored: float = 0.0) -> float:
    """Return the worst relative error, where absolute errors up to `ignored` count as none and NaN as ∞."""
    if not np.isfinite(got).all():
        return np.inf
    with mpmath.workdps(DIGITS):
        pairs = [(abs(mpmath.mpf(float(g)) - e), abs(e)) for g, e in zip(got, exact, strict=True)]
        return max(float(error / size) if error > ignored else 0.0 for error, size in pairs)


def _products(values: Floats) -> np.ndarray:
    """Return valuesᵀ values in units of 2^-216, as Python integers."""
    count = values.shape[1]
    rest, limbs = np.ldexp(values, FRACTION_BITS), []
    for shift in range(LIMB_BITS * (LIMBS - 1), -1, -LIMB_BITS):
        limbs.append(np.trunc(np.ldexp(rest, -shift)))
        rest = rest - np.ldexp(limbs[-1], shift)
    if rest.any() or np.abs(limbs[0]).max() >= 2**LIMB_BITS:
        raise ValueError("values must be below 2^20 and on the grid")
    stacked = np.hstack(limbs[::-1])
    sums = (stacked.T @ stacked).astype(np.int64).astype(object).reshape(LIMBS, count, LIMBS, count)
    total = np.zeros((count, count), dtype=object)
    for i in range(LIMBS):
        for j in range(LIMBS):
            total += sums[i, :, j] * 2 ** (LIMB_BITS * (i + j))
    return total
