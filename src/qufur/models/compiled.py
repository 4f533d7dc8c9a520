"""Loops over the rows of a block, compiled: one example after the other, as the definitions have it.

Only imported where numba is installed. Products of whole panels of rows go through BLAS all the same.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from qufur.arrays import Bools, Floats, Ints

ROWS_AT_ONCE = 64
QUERIES_AT_ONCE = 24

# Sums may be taken in any order, as BLAS does; NaN and ∞ keep their meaning.
_compiled = njit(cache=True, fastmath={"reassoc", "contract", "arcp"}, error_model="numpy")


@_compiled
def decide(
    inverse: Floats, X: Floats, levels: Floats, room: Floats, level: float, most: float
) -> tuple[Floats, Bools, Floats]:
    """Decide each row in its turn, and take what is queried off M⁻¹.

    A panel of rows meets M⁻¹ in one product, W = X M⁻¹. The queries z of the panel, scaled so that each takes
    z zᵀ off M⁻¹, are taken off its later rows one by one: q = ⟨w, x⟩ − Σ ⟨z, x⟩², and w − Σ ⟨z, x⟩ z is the
    row of M⁻¹x as it is by then. M⁻¹ follows at the panel's end.

    Parameters
    ----------
    inverse
        M⁻¹, both triangles; changed in place.
    levels, room
        For each row and copy, the Δ above which it wants the label; and labels left, changed in place.
    level, most
        Δ is level · min(most, q).

    Returns
    -------
    tuple of arrays
        q of each row, which copies pay for it, and the z of the queries.
    """
    n, d = X.shape
    variance, charges = np.empty(n), np.zeros(levels.shape, dtype=np.bool_)
    Z, W, share = np.empty((n, d)), np.empty((ROWS_AT_ONCE, d)), np.empty(QUERIES_AT_ONCE)
    start = first = count = 0
    while start < n:
        stop = min(n, start + ROWS_AT_ONCE)
        np.dot(X[start:stop], inverse, W[: stop - start])
        first, row = count, start
        while row < stop and count - first < QUERIES_AT_ONCE:
            x, w = X[row], W[row - start]
            q = 0.0
            for k in range(d):
                q += w[k] * x[k]
            for j in range(count - first):
                z, s = Z[first + j], 0.0
                for k in range(d):
                    s += z[k] * x[k]
                share[j] = s
                q -= s * s
            q = max(q, 0.0)
            variance[row] = q
            uncertainty = level * min(most, q)
            wanted = False
            for copy in range(levels.shape[1]):
                if uncertainty > levels[row, copy] and room[copy] > 0:
                    charges[row, copy] = True
                    room[copy] -= 1
                    wanted = True
            if wanted:
                for j in range(count - first):
                    z, s = Z[first + j], share[j]
                    for k in range(d):
                        w[k] -= s * z[k]
                spread = math.sqrt(1.0 + q)
                for k in range(d):
                    Z[count, k] = w[k] / spread
                count += 1
            row += 1
        if count > first:
            taken = Z[first:count]
            inverse -= np.dot(taken.T, taken)
        start = row
    return variance, charges, Z[:count]


@_compiled
def take_turns(
    G: Floats, levels: Floats, room: Floats, level: float, most: float
) -> tuple[Bools, Ints, Floats]:
    """Go through the rows of covariances G as `Turns` does, one after the other.

    Row j of the factor is found when it is queried: L_ij = (G_ij − Σ_k L_ik L_jk) / √(1 + q_j) over the
    queries k before it, for all rows i after it, whose variances fall by L_ij².

    Returns
    -------
    tuple of arrays
        Which copies pay for each row, the rows queried, and a row of L for each, as columns of all rows.
    """
    m = len(G)
    charges, chosen = np.zeros(levels.shape, dtype=np.bool_), np.empty(m, dtype=np.int64)
    columns, variance = np.zeros((m, m)), np.diag(G).copy()
    count = 0
    for row in range(m):
        q = max(variance[row], 0.0)
        uncertainty = level * min(most, q)
        wanted = False
        for copy in range(levels.shape[1]):
            if uncertainty > levels[row, copy] and room[copy] > 0:
                charges[row, copy] = True
                room[copy] -= 1
                wanted = True
        if wanted:
            spread, column = math.sqrt(1.0 + q), columns[count]
            for i in range(row + 1, m):
                column[i] = G[row, i]
            for k in range(count):
                before, s = columns[k], columns[k, row]
                for i in range(row + 1, m):
                    column[i] -= s * before[i]
            for i in range(row + 1, m):
                column[i] /= spread
                variance[i] -= column[i] * column[i]
            column[row] = spread
            chosen[count] = row
            count += 1
    return charges, chosen[:count], columns[:count]


@_compiled
def learn(
    coef: Floats, X: Floats, Z: Floats, variance: Floats, query: Bools, y: Floats
) -> tuple[Floats, Floats]:
    """Predict each row in its turn, learning the label of each query before the next row.

    `coef` is changed in place. Returns the scores, and how far each label was off in its own spread.
    """
    n, d = X.shape
    scores, surprise = np.empty(n), np.empty(len(y))
    count = 0
    for row in range(n):
        x, score = X[row], 0.0
        for k in range(d):
            score += coef[k] * x[k]
        scores[row] = score
        if query[row]:
            e = (y[count] - score) / math.sqrt(1.0 + variance[row])
            surprise[count] = e
            z = Z[count]
            for k in range(d):
                coef[k] += e * z[k]
            count += 1
    return scores, surprise
