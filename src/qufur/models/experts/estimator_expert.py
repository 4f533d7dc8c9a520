"""Somebody else's model: a scikit-learn estimator that is fitted anew now and then."""

from __future__ import annotations

import warnings
from math import inf
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.counts import counted
from qufur.errors import FailedFitWarning
from qufur.models.experts import forest
from qufur.models.experts.labelled import Sample
from qufur.models.experts.member import Member, described
from qufur.threads import one_thread


class EstimatorExpert(Member):
    """A scikit-learn regressor or classifier.

    One that fails to fit is named and rests until the next time: until then it says the mean of the targets,
    as it does before it has enough labels.

    Parameters
    ----------
    estimator
        It is cloned, never changed; where it takes a `random_state` and has none, it gets the seed.
    importance, half_life
        Where the estimator takes weights: (p̄/p)^κ, and half of it for every so many labels that came since.
    fewest
        Labels below which it is not fitted.
    scaled
        Whether it is given the inputs in deviations from the mean of the labelled rows.
    seed
        For `random_state`.
    """

    def __init__(
        self,
        estimator: Any,
        importance: float = 0.5,
        *,
        half_life: float = inf,
        fewest: int = 1,
        scaled: bool = False,
        seed: int = 0,
    ) -> None:
        self._estimator = estimator
        self._importance, self._half_life = importance, half_life
        self._fewest, self._scaled, self._seed = fewest, scaled, seed
        self.names = [described(type(estimator).__name__, 0.0, half_life)]

    def rest(self, output: Floats) -> None:
        self._output = output
        self._fitted: Any = None
        self._offset: float | Floats = 0.0
        self._unit: float | Floats = 1.0

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        self.rest(targets.mean(axis=0))
        # Estimators may write to whatever they are given: labels, rows and weights are copies of their own.
        y: Any = targets.argmax(axis=1) if targets.shape[1] > 1 else targets[:, 0].copy()
        if len(y) < self._fewest or (targets.shape[1] > 1 and len(np.unique(y)) < 2):
            return
        if self._scaled:
            deviation = sample.X.std(axis=0)
            self._offset, self._unit = sample.X.mean(axis=0), np.where(deviation > 0, deviation, np.inf)
        try:
            self._fitted = self._try_to_fit(sample, y)
            if not np.isfinite(self._outputs(sample.X[:1])).all():
                raise ValueError("its predictions are not finite")
        except Exception as error:  # whatever somebody else's code may raise
            self._fitted = None
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            failed = f"{self.names[0]} could not be fitted to {counted(len(y), 'label')} ({reason})"
            warnings.warn(f"{failed}; it rests until the next fit.", FailedFitWarning, stacklevel=2)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        if self._fitted is None or not len(X):
            return np.tile(self._output, (len(X), 1, 1))
        found = self._outputs(X)
        return np.where(np.isfinite(found), found, self._output)[:, None]

    def _try_to_fit(self, sample: Sample, y: Floats) -> Any:
        from sklearn.base import clone
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.utils.validation import has_fit_parameter

        fresh = clone(self._estimator)
        if "random_state" in fresh.get_params(deep=False) and fresh.random_state is None:
            fresh.set_params(random_state=self._seed)
        options = {}
        if has_fit_parameter(fresh, "sample_weight"):
            options["sample_weight"] = sample.weights(self._importance, self._half_life)
        with one_thread(), warnings.catch_warnings():
            # With few labels there is much to warn of, at every fit; what comes of it, losses judge.
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            return forest.fit(fresh, (sample.X - self._offset) / self._unit, y, **options)

    def _outputs(self, X: Floats) -> Floats:
        """Return the number that the estimator says of each row, or its probabilities."""
        rows, found = (X - self._offset) / self._unit, np.zeros((len(X), len(self._output)))
        if len(self._output) == 1:
            found[:, 0] = self._fitted.predict(rows)
        elif hasattr(self._fitted, "predict_proba"):
            found[:, self._fitted.classes_.astype(np.int64)] = self._fitted.predict_proba(rows)
        else:
            found[np.arange(len(X)), self._fitted.predict(rows).astype(np.int64)] = 1.0
        return found
