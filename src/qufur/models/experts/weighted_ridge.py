"""Ridge regressions on the same rows, with several weights and several λ: they share what they can."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from qufur.arrays import Floats
from qufur.models.gram import blas
from qufur.models.gram.gram import pieces

ROWS_AT_ONCE = 1024
"""Of the features: all of them at once may be much larger than the inputs."""
Penalties = Sequence[Sequence[float]]
Solutions = tuple[Floats, Floats]
"""Coefficients (regressions, features, targets) and intercepts (regressions, targets)."""


def solve_ridges(
    Z: Floats, features: Callable[[Floats], Floats], targets: Floats, weights: Floats, penalties: Penalties
) -> Solutions:
    """Return weighted ridge regressions with free intercepts, one for each row of weights and each of its λ.

    λ is outside the weights: labels that are forgotten leave it alone. λ = ∞ is the weighted mean.

    Parameters
    ----------
    Z, features
        The inputs, and what is made of some of them.
    targets
        What is to be said of each row: (rows, targets).
    weights
        (groups, rows), none of which is 0 throughout.
    penalties
        λ, for each group.

    Examples
    --------
    >>> Z, targets, same = np.eye(2), np.array([[1.0], [3.0]]), np.ones((1, 2))
    >>> coefficients, intercepts = solve_ridges(Z, np.asarray, targets, same, [[1.0, np.inf]])
    >>> coefficients[:, :, 0].round(3), intercepts[:, 0].round(3)
    (array([[-0.5,  0.5],
           [ 0. ,  0. ]]), array([2., 2.]))
    """
    middle = targets.mean(axis=0)  # so that no digits are lost to labels far from 0
    if len(Z) < features(Z[:1]).shape[1]:  # then the matrix of the rows is smaller than that of the columns
        coefficients, intercepts = _by_rows(features(Z), targets - middle, weights, penalties)
    else:
        coefficients, intercepts = _by_columns(Z, features, targets - middle, weights, penalties)
    return coefficients, intercepts + middle


def _by_rows(F: Floats, targets: Floats, weights: Floats, penalties: Penalties) -> Solutions:
    """Solve with the products of the rows, which all weights share but for their centers."""
    shares, roots = weights / weights.sum(axis=1, keepdims=True), np.sqrt(weights)[:, :, None]
    products, means = F @ F.T, shares @ targets
    toward = shares @ products
    within = (toward * shares).sum(axis=1)
    grams = products - (toward - within[:, None])[:, None] - toward[:, :, None]
    grams *= roots * roots.transpose(0, 2, 1)
    rights = (targets - means[:, None]) * roots
    alphas = np.array(
        [
            _solve(gram.T, right, penalty) * root
            for gram, right, root, own in zip(grams, rights, roots, penalties, strict=True)
            for penalty in own
        ]
    )
    group_of, centers = _groups(penalties), shares @ F
    coefficients = F.T @ alphas - centers[group_of, :, None] * alphas.sum(axis=1)[:, None]
    return coefficients, _intercepts(means[group_of], centers[group_of], coefficients)


def _by_columns(
    Z: Floats, features: Callable[[Floats], Floats], targets: Floats, weights: Floats, penalties: Penalties
) -> Solutions:
    """Solve with the products of the columns, which are summed up part by part."""
    sums: list[Floats] = []
    for part in pieces(len(Z), size=ROWS_AT_ONCE):
        F = features(Z[part])
        rows = np.column_stack([np.ones(len(F)), F, targets[part]])
        sums = sums or [np.zeros((rows.shape[1], rows.shape[1]), order="F") for _ in penalties]
        for own, weight, some in zip(sums, weights[:, part], penalties, strict=True):
            if min(some) < np.inf:
                blas.dsyrk(1.0, (rows * np.sqrt(weight)[:, None]).T, beta=1.0, c=own, overwrite_c=1)
            else:  # means are all it takes
                own[0] += weight @ rows
    end = len(sums[0]) - targets.shape[1]
    solved = []
    means = np.array([own[0, 1:] / own[0, 0] for own in sums])
    for own, mean, some in zip(sums, means, penalties, strict=True):
        own[1:end, 1:] -= np.multiply.outer(own[0, 1:end], mean)
        solved += [_solve(own[1:end, 1:end], own[1:end, end:], penalty) for penalty in some]
    coefficients, means = np.array(solved), means[_groups(penalties)]
    return coefficients, _intercepts(means[:, end - 1 :], means[:, : end - 1], coefficients)


def _solve(gram: Floats, right: Floats, penalty: float) -> Floats:
    """Return the solution for one λ; of the matrix, the upper triangle is read."""
    if penalty == np.inf:
        return np.zeros(right.shape)
    matrix, solved = gram.copy(order="F"), right.copy(order="F")
    matrix.ravel("K")[:: len(matrix) + 1] += penalty  # a view
    blas.dposv(matrix, solved, overwrite_a=1, overwrite_b=1)  # twice as fast as with copies of its own
    return solved


def _groups(penalties: Penalties) -> list[int]:
    return [group for group, own in enumerate(penalties) for _ in own]


def _intercepts(means: Floats, centers: Floats, coefficients: Floats) -> Floats:
    return np.asarray(means - np.einsum("ed,edt->et", centers, coefficients))
