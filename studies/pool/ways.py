"""Methods to choose rows of a pool, and the models fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.labelling.pool import choose

Way = Callable[[Floats, int, int], Ints]
"""Function of a pool, a number of rows and a seed that returns the chosen rows."""
PENALTY = 0.1
"""λ of the linear model in `log_determinant`."""
LEAST_IN_LEAF = 5
"""Rows per leaf of boosting: with the default of 20, 50 rows can be split only once."""
MOST_BOOSTED = 300
"""Columns times classes above which boosting is skipped."""


def at_random(X: Floats, count: int, seed: int) -> Ints:
    """Return uniformly sampled rows."""
    return np.asarray(np.random.default_rng(seed).choice(len(X), count, replace=False))


def chosen(X: Floats, count: int, seed: int) -> Ints:
    """Return the rows chosen by `qufur choose`."""
    return choose(X, count, seed=seed).rows


def log_determinant(X: Floats, count: int, seed: int) -> Ints:
    """Return rows that greedily maximise the determinant of M.

    Each is the row at which the linear model has the largest variance.

    >>> log_determinant(np.array([[0.0], [1.0], [9.0]]), 2, 0)
    array([2, 0])
    """
    rows = np.column_stack([_scaled(X), np.ones(len(X))])
    inverse, pivots = np.eye(rows.shape[1]) / PENALTY, np.empty(0, np.int64)
    variance = (rows**2).sum(axis=1) / PENALTY
    for _ in range(count):
        pivot = int(variance.argmax())
        solved = inverse @ rows[pivot] / np.sqrt(1 + variance[pivot])
        inverse -= np.outer(solved, solved)
        variance -= (rows @ solved) ** 2
        pivots = np.append(pivots, pivot)
        variance[pivots] = -np.inf
    return pivots


def k_means(X: Floats, count: int, seed: int) -> Ints:
    """Return the rows nearest to the means of `count` clusters.

    Two means may share their nearest row. The result is then filled up with random rows.
    """
    from sklearn.cluster import KMeans

    rows = _scaled(X)
    nearest = np.unique(KMeans(count, n_init=1, random_state=seed).fit(rows).transform(rows).argmin(axis=0))
    others = np.setdiff1d(at_random(X, len(X), seed), nearest, assume_unique=True)
    return np.concatenate([nearest, others[: count - len(nearest)]])


def _scaled(X: Floats) -> Floats:
    from qufur.models.ensemble.scaling import units_of  # imports scipy

    return units_of(X).transform(X)


WAYS: dict[str, Way] = {
    "at random": at_random,
    "chosen": chosen,
    "log-determinant": log_determinant,
    "k-means": k_means,
}


def models(columns: int, classes: int, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield pairs of name and estimator; 0 classes means regression."""
    from sklearn import ensemble, linear_model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    linear: Any = linear_model.RidgeCV(np.logspace(-3, 3, 13))
    suffix = "Classifier" if classes else "Regressor"
    if classes:
        linear = linear_model.LogisticRegression(max_iter=1000)
    yield "linear", make_pipeline(StandardScaler(), linear)
    yield "trees", getattr(ensemble, f"ExtraTrees{suffix}")(100, random_state=seed)
    if columns * max(1, classes) <= MOST_BOOSTED:
        boosting = getattr(ensemble, f"HistGradientBoosting{suffix}")
        yield "boosting", boosting(min_samples_leaf=LEAST_IN_LEAF, random_state=seed)
