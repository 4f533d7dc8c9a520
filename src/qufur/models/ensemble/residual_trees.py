"""Linear model with trees on its residuals: trees alone cannot predict beyond the labels they have seen."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor

from qufur.arrays import Floats
from qufur.models.ensemble.expert import fit_forest
from qufur.models.ensemble.ridge_experts import solve_ridges


class ResidualTrees(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on standardised columns plus trees on its residuals.

    The ridge predictions are clipped to the range of the labels, extended by a tenth on each side.

    Parameters
    ----------
    n_estimators, random_state
        As in scikit-learn's `ExtraTreesRegressor`.
    """

    def __init__(self, n_estimators: int = 60, random_state: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Floats, y: Floats, sample_weight: Floats | None = None) -> ResidualTrees:
        """Fit the ridge regression, then the trees to its residuals."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        deviation = X.std(axis=0)
        self.mean_ = X.mean(axis=0)
        self.unit_ = np.where(deviation > 0, deviation * X.shape[1] ** 0.5, np.inf)
        Z = (X - self.mean_) / self.unit_
        coefficients, intercepts = solve_ridges(Z, np.asarray, y[:, None], weights[None], [[1.0]])
        self.coefficients_, self.intercept_ = coefficients[0, :, 0], intercepts[0, 0]
        margin = 0.1 * np.ptp(y)
        self.range_ = y.min() - margin, y.max() + margin
        trees = ExtraTreesRegressor(self.n_estimators, random_state=self.random_state)
        self.forest_ = fit_forest(trees, X, y - self._linear(X), sample_weight=weights)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the sum of the linear prediction and the trees' prediction."""
        return np.asarray(self._linear(X) + self.forest_.predict(X))

    def _linear(self, X: Floats) -> Floats:
        scores = (X - self.mean_) / self.unit_ @ self.coefficients_ + self.intercept_
        return np.asarray(np.clip(scores, *self.range_))
