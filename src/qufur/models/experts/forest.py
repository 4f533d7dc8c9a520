"""The trees of a scikit-learn forest, without what scikit-learn does around them for every call and tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats

FEW = 200
"""Rows up to which it is faster to walk down all trees together."""


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
        self._trees = trees = [estimator.tree_ for estimator in fitted.estimators_]
        self._roots = np.cumsum([0] + [tree.node_count for tree in trees[:-1]])
        self._feature = np.concatenate([tree.feature for tree in trees])
        self._threshold = np.concatenate([tree.threshold for tree in trees])
        children = [
            np.column_stack([tree.children_left, tree.children_right]) + root
            for tree, root in zip(trees, self._roots, strict=True)
        ]
        self._children = np.concatenate(children)
        leaves = self._feature < 0
        self._children[leaves] = np.arange(len(leaves))[leaves, None]
        self._feature[leaves] = 0
        self._values = np.concatenate([tree.value[:, 0] for tree in trees])
        self._depth = max(tree.max_depth for tree in trees)

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
        if len(X) > FEW:
            return np.asarray(sum(tree.predict(rows) for tree in self._trees) / len(self._trees))
        place = np.arange(len(rows))[:, None]
        node = np.broadcast_to(self._roots, (len(rows), len(self._roots)))
        for _ in range(self._depth):
            right = rows[place, self._feature[node]] > self._threshold[node]
            node = self._children[node, right.astype(np.intp)]
        return np.asarray(self._values[node].mean(axis=1))
