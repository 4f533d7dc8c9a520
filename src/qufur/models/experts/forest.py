"""The trees of a scikit-learn forest, without what scikit-learn does around them for every call and tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats


class Forest:
    """The mean of what the trees of a fitted forest say.

    Parameters
    ----------
    fitted
        A forest of scikit-learn, of regression or classification trees.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> fitted = ExtraTreesRegressor(5, random_state=0).fit(X, X[:, 0])
    >>> np.allclose(Forest(fitted)(X)[:, 0], fitted.predict(X))
    True
    """

    def __init__(self, fitted: Any) -> None:
        self._trees = [estimator.tree_ for estimator in fitted.estimators_]

    @classmethod
    def of(cls, fitted: Any) -> Forest | None:
        """Return the forest that a fitted estimator is, if it is one."""
        from sklearn import ensemble

        kinds = (
            ensemble.ExtraTreesClassifier,
            ensemble.ExtraTreesRegressor,
            ensemble.RandomForestClassifier,
            ensemble.RandomForestRegressor,
        )
        return cls(fitted) if type(fitted) in kinds else None

    def __call__(self, X: Floats) -> Floats:
        """Return the means, of shape (rows, outputs)."""
        rows = X.astype(np.float32)  # trees compare numbers of this precision
        return np.asarray(sum(tree.predict(rows) for tree in self._trees) / len(self._trees))
