"""The trees of a scikit-learn forest, without what scikit-learn does around them for every call and tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats


class Forest:
    """The mean of what trees say.

    Parameters
    ----------
    fitted
        Regression or classification trees of scikit-learn.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> fitted = ExtraTreesRegressor(5, random_state=0).fit(X, X[:, 0])
    >>> np.allclose(Forest(fitted.estimators_).predict(X), fitted.predict(X))
    True
    """

    def __init__(self, fitted: Any) -> None:
        self._trees = [tree.tree_ for tree in fitted]

    def predict(self, X: Floats) -> Floats:
        """Return the means of regression trees."""
        return self.predict_proba(X)[:, 0]

    def predict_proba(self, X: Floats) -> Floats:
        """Return the means, of shape (rows, outputs)."""
        rows = X.astype(np.float32)  # trees compare numbers of this precision
        return np.asarray(sum(tree.predict(rows) for tree in self._trees) / len(self._trees))


class ClassForest(Forest):
    """Trees that tell classes apart, and the classes."""

    def __init__(self, fitted: Any, classes: Any) -> None:
        super().__init__(fitted)
        self.classes_ = classes


def fit(estimator: Any, X: Floats, y: Any, **options: Any) -> Any:
    """Return a fitted estimator; of a forest only the trees.

    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> trees = ExtraTreesRegressor(5, random_state=0)
    >>> np.allclose(fit(trees, X, X[:, 0]).predict(X), trees.fit(X, X[:, 0]).predict(X))
    True
    """
    from sklearn import ensemble

    classifying = (ensemble.ExtraTreesClassifier, ensemble.RandomForestClassifier)
    if type(estimator) not in (*classifying, ensemble.ExtraTreesRegressor, ensemble.RandomForestRegressor):
        return estimator.fit(X, y, **options)
    rows = X.astype(np.float32)
    if _is_plain(estimator) and np.isfinite(rows).all():  # else scikit-learn says what is wrong
        trees = _grown(estimator, rows, y, **options)
    else:
        trees = estimator.fit(X, y, **options).estimators_
    return ClassForest(trees, np.unique(y)) if type(estimator) in classifying else Forest(trees)


def _is_plain(forest: Any) -> bool:
    """Return whether every tree is grown from all rows, and nothing is set but how many there are."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = type(forest)
    if kind not in (ExtraTreesClassifier, ExtraTreesRegressor):
        return False
    plain = kind(forest.n_estimators, random_state=forest.random_state)
    return bool(plain.get_params() == forest.get_params())


def _grown(forest: Any, rows: Any, y: Any, sample_weight: Floats | None = None) -> list[Any]:
    """Return the trees that `fit` grows in a plain forest, in half of the time: it clones and checks each."""
    from sklearn import config_context, tree
    from sklearn.utils import check_random_state

    kind = tree.ExtraTreeClassifier if hasattr(forest, "predict_proba") else tree.ExtraTreeRegressor
    rng = check_random_state(forest.random_state)
    seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(forest.n_estimators)]
    trees = [kind(max_features=forest.max_features, random_state=seed) for seed in seeds]
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return [one.fit(rows, y, sample_weight=sample_weight, check_input=False) for one in trees]
