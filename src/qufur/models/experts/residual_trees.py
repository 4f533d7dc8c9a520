"""A linear fit, and trees on what it leaves over: trees alone cannot go on beyond the labels they saw."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor

from qufur.arrays import Floats
from qufur.models.experts import forest
from qufur.models.experts.ridge_family import solve_ridge


class ResidualTrees(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on scaled columns, clipped to the labels' range and a tenth, and trees on the rest.

    Parameters
    ----------
    n_estimators, random_state
        As in scikit-learn's `ExtraTreesRegressor`.
    """

    def __init__(self, n_estimators: int = 60, random_state: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Floats, y: Floats, sample_weight: Floats | None = None) -> ResidualTrees:
        """Fit both."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        deviation = X.std(axis=0)
        self.mean_ = X.mean(axis=0)
        self.unit_ = np.where(deviation > 0, deviation * X.shape[1] ** 0.5, np.inf)
        coefficients, intercepts = solve_ridge((X - self.mean_) / self.unit_, y[:, None], weights, [1.0])
        self.coefficients_, self.intercept_ = coefficients[:, 0, 0], intercepts[0, 0]
        more = 0.1 * np.ptp(y)
        self.range_ = y.min() - more, y.max() + more
        trees = ExtraTreesRegressor(self.n_estimators, random_state=self.random_state)
        self.forest_ = forest.fit(trees, X, y - self._linear(X), sample_weight=weights)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the sum of both."""
        return np.asarray(self._linear(X) + self.forest_.predict(X))

    def _linear(self, X: Floats) -> Floats:
        scores = (X - self.mean_) / self.unit_ @ self.coefficients_ + self.intercept_
        return np.asarray(np.clip(scores, *self.range_))
