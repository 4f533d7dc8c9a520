"""Ways to choose rows of a pool, and the models that people fit to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.labelling.pool import choose

Way = Callable[[Floats, int, int], Ints]
"""From a pool, a number of rows and a seed to the rows."""
PENALTY = 0.1
"""λ of the linear model of which `log_determinant` is."""
LEAST_IN_LEAF = 5
"""Rows in a leaf of boosting: at 20, as usual, 50 rows can be split once."""
MOST_BOOSTED = 300
"""Columns times classes beyond which boosting is left out."""


def at_random(X: Floats, count: int, seed: int) -> Ints:
    """Return rows drawn at random."""
    return np.asarray(np.random.default_rng(seed).choice(len(X), count, replace=False))


def chosen(X: Floats, count: int, seed: int) -> Ints:
    """Return what `qufur choose` takes."""
    return choose(X, count, seed=seed).rows


def log_determinant(X: Floats, count: int, seed: int) -> Ints:
    """Return the pivots of greatest variance of a linear model: greedy for the determinant of M.

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
    """Return the rows nearest to the means of as many clusters; others at random if that is too few."""
    from sklearn.cluster import KMeans

    rows = _scaled(X)
    nearest = np.unique(KMeans(count, n_init=1, random_state=seed).fit(rows).transform(rows).argmin(axis=0))
    others = np.setdiff1d(at_random(X, len(X), seed), nearest, assume_unique=True)
    return np.concatenate([nearest, others[: count - len(nearest)]])


def _scaled(X: Floats) -> Floats:
    from qufur.models.experts.scaling import units_of  # with it comes scipy

    return units_of(X).transform(X)


WAYS: dict[str, Way] = {
    "at random": at_random,
    "chosen": chosen,
    "log-determinant": log_determinant,
    "k-means": k_means,
}


def models(columns: int, classes: int, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield a name and an estimator; 0 classes are numbers."""
    from sklearn import ensemble, linear_model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    linear: Any = linear_model.RidgeCV(np.logspace(-3, 3, 13))
    kind, boosted = "Classifier" if classes else "Regressor", columns * max(1, classes) <= MOST_BOOSTED
    if classes:
        linear = linear_model.LogisticRegression(max_iter=1000)
    yield "linear", make_pipeline(StandardScaler(), linear)
    yield "trees", getattr(ensemble, f"ExtraTrees{kind}")(100, random_state=seed)
    if boosted:
        boosting = getattr(ensemble, f"HistGradientBoosting{kind}")
        yield "boosting", boosting(min_samples_leaf=LEAST_IN_LEAF, random_state=seed)
