"""What people do: labels at random, the usual models of scikit-learn, and the best of them so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints

GROWTH, SHARE = 0.15, 1 / 40
"""Models are fitted anew at so many more labels, or after such a share of the stream if there are any."""
TREES = 100
MOST_COLUMNS = 100
"""Beyond it trees look at some of the columns only, as those of `Experts` do."""
MOST_BOOSTED = 1000
"""Columns times classes beyond which boosting takes minutes for a fit, and is left out."""
BOOSTED_FROM = 40
"""Fewer labels cannot be split into two leaves of 20: boosting is then the mean."""


def fits(bought: Ints, horizon: int) -> Iterator[tuple[int, slice]]:
    """Yield how many labels models are fitted to, and which rows they then predict.

    >>> [(count, rows.start) for count, rows in fits(np.array([0, 3, 4, 50]), 60)]
    [(1, 1), (2, 4), (3, 5), (4, 51)]
    """
    counts: list[int] = []
    last, since = 0, -1
    for count, row in enumerate(bought.tolist(), 1):
        if count >= last * (1 + GROWTH) or row - since >= SHARE * horizon:
            counts.append(count)
            last, since = count, row
    starts = [int(bought[count - 1]) + 1 for count in counts]
    for count, start, stop in zip(counts, starts, [*starts[1:], horizon], strict=True):
        yield count, slice(start, stop)


def leaders(losses: Floats, bought: Ints) -> Ints:
    """Return for every row which model had the least loss on the labels bought before it.

    >>> leaders(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.array([0, 1]))
    array([0, 1, 0])
    """
    before = np.searchsorted(bought, np.arange(len(losses)))
    sums = np.cumsum(losses[bought], axis=0)
    return np.asarray(np.vstack([np.zeros_like(sums[:1]), sums])[before].argmin(axis=1))


def usual_numbers(X: Floats, y: Floats, bought: Ints, seed: int) -> Floats:
    """Return the predictions for all rows, clipped to the labels seen; that of the first is 0."""
    models = _regressors(X.shape[1], seed)
    said = np.zeros((len(y), len(models)))
    for count, rows in fits(bought, len(y)):
        known, labels = X[bought[:count]], y[bought[:count]]
        said[rows] = labels.mean()
        for place, model in enumerate(models):
            if rows.start < rows.stop and _can_fit(model, labels):
                found = model.fit(known, labels).predict(X[rows])
                said[rows, place] = np.clip(found, labels.min(), labels.max())
    return np.asarray(said[np.arange(len(y)), leaders((said - y[:, None]) ** 2, bought)])


def usual_classes(X: Floats, y: Floats, bought: Ints, seed: int, classes: int) -> Floats:
    """Return how probable every model finds each class, (rows, models, classes)."""
    models = _classifiers(X.shape[1], classes, seed)
    said = np.full((len(y), len(models), classes), 1 / classes)
    for count, rows in fits(bought, len(y)):
        known, labels = X[bought[:count]], y[bought[:count]].astype(np.int64)
        said[rows] = (np.bincount(labels, minlength=classes) + 0.5) / (count + 0.5 * classes)
        for place, model in enumerate(models):
            if rows.start < rows.stop and _can_fit(model, labels):
                model.fit(known, labels)
                said[rows, place] = 0.0
                said[rows, place][:, model.classes_] = model.predict_proba(X[rows])
    return said


def _regressors(columns: int, seed: int) -> Sequence[Any]:
    from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    some = 1.0 if columns <= MOST_COLUMNS else "sqrt"
    models = [
        make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        ExtraTreesRegressor(TREES, max_features=some, random_state=seed),
    ]
    return models + [HistGradientBoostingRegressor(random_state=seed)] * (columns <= MOST_BOOSTED)


def _classifiers(columns: int, classes: int, seed: int) -> Sequence[Any]:
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    models = [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        ExtraTreesClassifier(TREES, random_state=seed),
    ]
    boosted = HistGradientBoostingClassifier(random_state=seed)
    return models + [boosted] * (columns * classes <= MOST_BOOSTED)


def _can_fit(model: Any, labels: Floats | Ints) -> bool:
    fewest = BOOSTED_FROM if type(model).__name__.startswith("HistGradient") else 2
    return len(labels) >= fewest and len(np.unique(labels)) > 1
