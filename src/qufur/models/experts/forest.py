"""The trees of a scikit-learn forest, without what scikit-learn does around them for every call and tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qufur.arrays import Floats


class Forest:
    """The mean of what trees say.

    Parameters
    ----------
    trees
        The `tree_` of regression or classification trees of scikit-learn.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> fitted = ExtraTreesRegressor(5, random_state=0).fit(X, X[:, 0])
    >>> np.allclose(Forest([tree.tree_ for tree in fitted.estimators_]).predict(X), fitted.predict(X))
    True
    """

    def __init__(self, trees: Sequence[Any]) -> None:
        self._trees = trees

    def predict(self, X: Floats) -> Floats:
        """Return the means of regression trees."""
        return self.predict_proba(X)[:, 0]

    def predict_proba(self, X: Floats) -> Floats:
        """Return the means, of shape (rows, outputs)."""
        rows = X.astype(np.float32)  # trees compare numbers of this precision
        return np.asarray(sum(tree.predict(rows) for tree in self._trees) / len(self._trees))


class ClassForest(Forest):
    """Trees that tell classes apart, and the classes."""

    def __init__(self, trees: Sequence[Any], classes: Any) -> None:
        super().__init__(trees)
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
    trees = _trees(estimator, X, y, **options)
    return ClassForest(trees, np.unique(y)) if type(estimator) in classifying else Forest(trees)


def _trees(forest: Any, X: Floats, y: Any, **options: Any) -> list[Any]:
    rows = X.astype(np.float32)
    if _is_plain(forest) and np.isfinite(rows).all():  # else scikit-learn says what is wrong
        try:
            return _grown(forest, rows, y, **options)
        except (ImportError, TypeError):  # a scikit-learn whose parts are others
            pass
    return [tree.tree_ for tree in forest.fit(X, y, **options).estimators_]


def _is_plain(forest: Any) -> bool:
    """Return whether every tree is grown from all rows, in full, and by what is usual."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind, tried = type(forest), forest.max_features
    if kind not in (ExtraTreesClassifier, ExtraTreesRegressor) or tried not in ("sqrt", 1.0):
        return False
    plain = kind(forest.n_estimators, max_features=tried, random_state=forest.random_state)
    return bool(plain.get_params() == forest.get_params())


def _grown(forest: Any, rows: Any, y: Any, sample_weight: Floats | None = None) -> list[Any]:
    """Return the trees that `fit` grows in a plain forest; from few rows in a quarter of the time.

    It makes and checks everything for each tree, and all that differs between them is the seed.
    """
    from sklearn.tree._splitter import RandomSplitter
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree
    from sklearn.utils import check_random_state

    dim = rows.shape[1]
    tried = dim if forest.max_features == 1.0 else max(1, int(np.sqrt(dim)))
    criterion, outputs, target = _aim(hasattr(forest, "predict_proba"), y)
    weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    rng, of_tree = check_random_state(forest.random_state), np.random.RandomState(0)
    splitter = RandomSplitter(criterion, tried, 1, 0.0, of_tree, None)
    builder = DepthFirstTreeBuilder(splitter, 2, 1, 0.0, np.iinfo(np.int32).max, 0.0)
    trees = [Tree(dim, outputs, 1) for _ in range(forest.n_estimators)]
    for tree in trees:
        of_tree.seed(rng.randint(np.iinfo(np.int32).max))
        builder.build(tree, rows, target, weights)
    return trees


def _aim(classifying: bool, y: Any) -> tuple[Any, Any, Floats]:
    """Return the criterion of splits, how many numbers a tree says, and what they should be."""
    from sklearn.tree._criterion import MSE, Gini

    if not classifying:
        return (
            MSE(1, len(y)),
            np.array([1], dtype=np.intp),
            np.ascontiguousarray(y, dtype=np.float64)[:, None],
        )
    classes, places = np.unique(y, return_inverse=True)
    outputs = np.array([len(classes)], dtype=np.intp)
    return Gini(1, outputs), outputs, places.astype(np.float64)[:, None]
