"""Compiled loops over the rows of a block, one example after the other as in the definitions.

The import fails without a working numba. Products of panels of rows use BLAS.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from qufur.arrays import Bools, Floats, Ints

ROWS_AT_ONCE = 64
QUERIES_AT_ONCE = 24

# Sums may be taken in any order, as BLAS does; NaN and ∞ keep their meaning.
_compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "arcp"}, error_model="numpy")


@_compiled
def decide(
    inverse: Floats,
    X: Floats,
    thresholds: Floats,
    labels_left: Floats,
    noise_scale: float,
    variance_cap: float,
) -> tuple[Floats, Bools, Floats]:
    """Decide row by row and subtract the queries from M⁻¹, in place.

    One product per panel of rows gives W = X M⁻¹. The queries z of the panel, scaled so that each subtracts
    z zᵀ from M⁻¹, correct its later rows one by one: q = ⟨w, x⟩ − Σ ⟨z, x⟩², and w − Σ ⟨z, x⟩ z is M⁻¹x
    at that row. M⁻¹ is updated at the panel's end.

    Parameters
    ----------
    inverse
        M⁻¹, both triangles.
    thresholds, labels_left
        The Δ above which each copy (columns) queries each row, and the labels left, changed in place.
    noise_scale, variance_cap
        Δ is noise_scale · min(variance_cap, q).

    Returns
    -------
    tuple of arrays
        q of each row, the copies charged for it, and the z of the queries.
    """
    n, d = X.shape
    variance = np.empty(n)
    charges = np.zeros(thresholds.shape, dtype=np.bool_)
    Z, W, share = np.empty((n, d)), np.empty((ROWS_AT_ONCE, d)), np.empty(QUERIES_AT_ONCE)
    start = count = 0
    while start < n:
        stop = min(n, start + ROWS_AT_ONCE)
        np.dot(X[start:stop], inverse, W[: stop - start])
        first, row = count, start
        while row < stop and count - first < QUERIES_AT_ONCE:
            x, w = X[row], W[row - start]
            q = _product(w, x)
            for j in range(count - first):
                share[j] = _product(Z[first + j], x)
                q -= share[j] * share[j]
            variance[row] = q = max(q, 0.0)
            if _buys(noise_scale * min(variance_cap, q), thresholds[row], labels_left, charges[row]):
                for j in range(count - first):
                    _subtract(share[j], Z[first + j], w)
                Z[count] = w / math.sqrt(1.0 + q)
                count += 1
            row += 1
        if count > first:
            taken = Z[first:count]
            inverse -= np.dot(taken.T, taken)
        start = row
    return variance, charges, Z[:count]


@_compiled
def decide_low_rank(
    basis: Floats,
    penalty: float,
    X: Floats,
    thresholds: Floats,
    labels_left: Floats,
    noise_scale: float,
    variance_cap: float,
    limit: int,
) -> tuple[Floats, Bools, Floats]:
    """Decide row by row while M⁻¹ = (I − BᵀB)/λ has so few rows in B that this form is cheaper.

    With s = Bx, λq = ‖x‖² − ‖s‖², and a query adds (x − Bᵀs)/√(λ + λq) to B. S = XBᵀ takes one
    product per panel; rows that the panel adds to B are applied one by one. The loop stops at a panel that
    begins with more than `limit` rows in B.

    Returns
    -------
    tuple of arrays
        As `decide`, for the rows before the stop.
    """
    n, d = X.shape
    old = count = len(basis)
    B, variance = np.empty((old + n, d)), np.empty(n)
    B[:old] = basis
    charges = np.zeros(thresholds.shape, dtype=np.bool_)
    share = np.empty(ROWS_AT_ONCE)
    start = 0
    while start < n and count <= limit:
        stop, first = min(n, start + ROWS_AT_ONCE), count
        S = np.empty((stop - start, first))
        if first > 0:
            np.dot(X[start:stop], B[:first].T, S)
        for row in range(start, stop):
            x, s = X[row], S[row - start]
            q = _product(x, x) - _product(s, s)
            for j in range(count - first):
                share[j] = _product(B[first + j], x)
                q -= share[j] * share[j]
            q = max(q, 0.0)
            variance[row] = q / penalty
            if _buys(
                noise_scale * min(variance_cap, variance[row]), thresholds[row], labels_left, charges[row]
            ):
                b = B[count]
                b[:] = x
                for j in range(first):
                    _subtract(s[j], B[j], b)
                for j in range(count - first):
                    _subtract(share[j], B[first + j], b)
                b /= math.sqrt(penalty + q)
                count += 1
        start = stop
    return variance[:start], charges[:start], B[old:count] / math.sqrt(penalty)


@_compiled
def choose(
    G: Floats, thresholds: Floats, labels_left: Floats, noise_scale: float, variance_cap: float
) -> tuple[Bools, Ints, Floats]:
    """Decide rows with covariances G one by one, as `SequentialCholesky` does.

    The column of L of a query j is (G_ij − Σ_k L_ik L_jk)/√(1 + q_j), over the queries k before it; the
    variance of each row i after it falls by L_ij².

    Returns
    -------
    tuple of arrays
        The copies charged for each row, the queried rows, and the column of L of each query.
    """
    m = len(G)
    charges, chosen = np.zeros(thresholds.shape, dtype=np.bool_), np.empty(m, dtype=np.int64)
    columns, variance = np.zeros((m, m)), np.diag(G).copy()
    count = 0
    for row in range(m):
        q = max(variance[row], 0.0)
        if _buys(noise_scale * min(variance_cap, q), thresholds[row], labels_left, charges[row]):
            column = columns[count]
            column[row + 1 :] = G[row, row + 1 :]
            for k in range(count):
                _subtract(columns[k, row], columns[k, row + 1 :], column[row + 1 :])
            column[row] = math.sqrt(1.0 + q)
            column[row + 1 :] /= column[row]
            variance[row + 1 :] -= column[row + 1 :] ** 2
            chosen[count] = row
            count += 1
    return charges, chosen[:count], columns[:count]


@_compiled
def learn(
    coef: Floats, X: Floats, Z: Floats, variance: Floats, query: Bools, y: Floats
) -> tuple[Floats, Floats]:
    """Predict row by row, learning the label of each query before the next row.

    `coef` is changed in place. Returns the scores and the normalised innovation of each label.
    """
    scores, innovation = np.empty(len(X)), np.empty(len(y))
    count = 0
    for row in range(len(X)):
        scores[row] = _product(coef, X[row])
        if query[row]:
            innovation[count] = (y[count] - scores[row]) / math.sqrt(1.0 + variance[row])
            _subtract(-innovation[count], Z[count], coef)
            count += 1
    return scores, innovation


@_compiled
def _buys(uncertainty: float, thresholds: Floats, labels_left: Floats, charges: Bools) -> bool:
    """Charge each copy whose threshold is exceeded and that has labels left; return whether any is."""
    queried = False
    for copy in range(len(thresholds)):
        if uncertainty > thresholds[copy] and labels_left[copy] > 0:
            charges[copy] = queried = True
            labels_left[copy] -= 1
    return queried


@_compiled
def _product(a: Floats, b: Floats) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@_compiled
def _subtract(factor: float, a: Floats, b: Floats) -> None:
    for k in range(len(a)):
        b[k] -= factor * a[k]


@_compiled
def symmetric(triangle: Floats) -> Floats:
    """Return the symmetric matrix with this lower triangle."""
    matrix = np.empty(triangle.shape)
    for i in range(len(matrix)):
        for j in range(i + 1):
            matrix[i, j] = matrix[j, i] = triangle[i, j]
    return matrix
