"""Somebody else's model: a scikit-learn estimator that is fitted anew now and then."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import FailedFitWarning
from qufur.models.experts.labelled import Sample
from qufur.threads import one_thread


class EstimatorExpert:
    """A scikit-learn regressor or classifier, on raw inputs.

    One that fails to fit is named and rests until the next time: until then it predicts the mean of the
    targets, as it does before its first label.

    Parameters
    ----------
    estimator
        It is cloned, never changed; where it takes a `random_state` and has none, it gets the seed.
    importance
        κ: where the estimator takes weights, a label has (p̄/p)^κ.
    fewest
        Labels below which it is not fitted.
    seed
        For `random_state`.
    """

    def __init__(self, estimator: Any, importance: float, fewest: int, seed: int) -> None:
        self.estimator = estimator
        self.importance = importance
        self.fewest = fewest
        self.seed = seed
        self.rest(np.zeros(1))

    def rest(self, mean: Floats) -> None:
        """Predict the same for all inputs, until it is fitted."""
        self._fitted: Any = None
        self._mean = mean

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return type(self.estimator).__name__

    def fit(self, sample: Sample, targets: Floats) -> None:
        """Fit it to labelled rows; several columns of targets are classes, one of them 1 in each row."""
        self.rest(targets.mean(axis=0))
        y = targets.argmax(axis=1) if targets.shape[1] > 1 else targets[:, 0]
        if len(y) < self.fewest or (targets.shape[1] > 1 and len(np.unique(y)) < 2):
            return
        try:
            self._fitted = self._try_to_fit(sample, y)
            if not np.isfinite(self._outputs(sample.X[:1], len(self._mean))).all():
                raise ValueError("its predictions are not finite")  # noqa: TRY301
        except Exception as error:  # whatever somebody else's code may raise
            self._fitted = None
            first = (str(error).splitlines() or [""])[0]
            text = f"{self.name} could not be fitted to {len(y)} labels ({first}); it rests until the next fit."
            warnings.warn(text, FailedFitWarning, stacklevel=2)

    def _try_to_fit(self, sample: Sample, y: Floats) -> Any:
        from sklearn.base import clone
        from sklearn.utils.validation import has_fit_parameter

        fresh = clone(self.estimator)
        if "random_state" in fresh.get_params(deep=False) and fresh.random_state is None:
            fresh.set_params(random_state=self.seed)
        options = {}
        if has_fit_parameter(fresh, "sample_weight"):
            options["sample_weight"] = sample.weights(self.importance, np.inf)
        with one_thread():
            return fresh.fit(sample.X, y, **options)

    def predict(self, X: Floats) -> Floats:
        """Return the predictions, of shape (rows, targets)."""
        if self._fitted is None or not len(X):
            return np.broadcast_to(self._mean, (len(X), len(self._mean))).copy()
        found = self._outputs(X, len(self._mean))
        return np.where(np.isfinite(found), found, self._mean)

    def _outputs(self, X: Floats, targets: int) -> Floats:
        with one_thread():
            if targets == 1:
                return np.asarray(self._fitted.predict(X), dtype=np.float64).reshape(len(X), 1)
            found = np.zeros((len(X), targets))
            if hasattr(self._fitted, "predict_proba"):
                found[:, self._fitted.classes_.astype(np.int64)] = self._fitted.predict_proba(X)
            else:
                found[np.arange(len(X)), self._fitted.predict(X).astype(np.int64)] = 1.0
            return found
