"""Experts: the interface, scikit-learn estimators as experts, and fast scikit-learn forests."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np

from qufur._internal.counts import counted
from qufur._internal.threads import single_blas_thread
from qufur.arrays import Floats
from qufur.errors import FailedFitWarning
from qufur.models.ensemble.training_set import Sample


class Expert(ABC):
    """One expert, or several that are fitted together.

    An expert returns a number for each row, or a probability for each class.

    Attributes
    ----------
    names
        Names of the experts in reports.
    """

    names: Sequence[str]

    @abstractmethod
    def reset(self, output: Floats) -> None:
        """Discard the fit and predict `output` for every row until the next one."""

    @abstractmethod
    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        """Fit to at least one labelled row.

        Parameters
        ----------
        sample
            Unscaled rows, their labels and their purchases.
        Z
            The same rows, scaled to squared norms of about 1.
        targets
            Target of each row, (rows, outputs).
        """

    @abstractmethod
    def predict(self, X: Floats, Z: Floats) -> Floats:
        """Return the outputs for rows, given unscaled and scaled: (rows, experts, outputs)."""


def expert_name(model: str, importance: float, half_life: float, at_random: bool = False) -> str:
    """Return the name of an expert in reports.

    >>> expert_name("linear, penalty 1", 0.5, 80)
    'linear, penalty 1, importance 0.5, half-life 80 labels'
    """
    parts = [model]
    if importance:
        parts.append(f"importance {importance:g}")
    if half_life < inf:
        parts.append(f"half-life {half_life:g} labels")
    if at_random:
        parts.append("labels at random")
    return ", ".join(parts)


class EstimatorExpert(Expert):
    """A scikit-learn regressor or classifier.

    An estimator that fails to fit causes a `FailedFitWarning`. It then predicts the mean of the targets until
    the next fit, as it does with fewer than `min_labels` labels.

    Parameters
    ----------
    estimator
        It is cloned and never changed. An estimator whose `random_state` is None gets the seed.
    importance
        κ of the sample weights (p̄/p)^κ, for estimators that take sample weights.
    min_labels
        Number of labels from which the estimator is fitted.
    scaled
        Whether to standardise the inputs with mean and standard deviation of the labelled rows.
    seed
        Value of `random_state` if the estimator has none.
    """

    def __init__(
        self,
        estimator: Any,
        importance: float = 0.5,
        *,
        min_labels: int = 1,
        scaled: bool = False,
        seed: int = 0,
    ) -> None:
        self._estimator, self._importance = estimator, importance
        self._min_labels, self._scaled, self._seed = min_labels, scaled, seed
        self.names = [type(estimator).__name__]

    def reset(self, output: Floats) -> None:
        self._output = output
        self._fitted: Any = None
        self._offset: float | Floats = 0.0
        self._unit: float | Floats = 1.0

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        self.reset(targets.mean(axis=0))
        # Estimators may overwrite their arguments: labels, rows and weights are copies.
        y: Any = targets.argmax(axis=1) if targets.shape[1] > 1 else targets[:, 0].copy()
        if len(y) < self._min_labels or (targets.shape[1] > 1 and len(np.unique(y)) < 2):
            return
        if self._scaled:
            deviation = sample.X.std(axis=0)
            self._offset, self._unit = sample.X.mean(axis=0), np.where(deviation > 0, deviation, np.inf)
        try:
            self._fitted = self._try_to_fit(sample, y)
            if not np.isfinite(self._outputs(sample.X[:1])).all():
                raise ValueError("its predictions are not finite")
        except Exception as error:  # third-party estimators may raise anything
            self._fitted = None
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            failed = f"{self.names[0]} could not be fitted to {counted(len(y), 'label')} ({reason})"
            message = f"{failed}; it predicts the mean until the next fit."
            warnings.warn(message, FailedFitWarning, stacklevel=2)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        if self._fitted is None or not len(X):
            return np.tile(self._output, (len(X), 1, 1))
        outputs = self._outputs(X)
        return np.where(np.isfinite(outputs), outputs, self._output)[:, None]

    def _try_to_fit(self, sample: Sample, y: Floats) -> Any:
        from sklearn.base import clone
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.utils.validation import has_fit_parameter

        fresh = clone(self._estimator)
        if "random_state" in fresh.get_params(deep=False) and fresh.random_state is None:
            fresh.set_params(random_state=self._seed)
        options = {}
        if has_fit_parameter(fresh, "sample_weight"):
            options["sample_weight"] = sample.weights(self._importance, inf)
        with single_blas_thread(), warnings.catch_warnings():
            # With few labels every fit would warn; the expert's losses show a bad fit.
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit_forest(fresh, (sample.X - self._offset) / self._unit, y, **options)

    def _outputs(self, X: Floats) -> Floats:
        """Return the estimator's number, or its class probabilities, for each row."""
        rows, outputs = (X - self._offset) / self._unit, np.zeros((len(X), len(self._output)))
        if len(self._output) == 1:
            outputs[:, 0] = self._fitted.predict(rows)
        elif hasattr(self._fitted, "predict_proba"):
            outputs[:, self._fitted.classes_.astype(np.int64)] = self._fitted.predict_proba(rows)
        else:
            outputs[np.arange(len(X)), self._fitted.predict(rows).astype(np.int64)] = 1.0
        return outputs


class Forest:
    """Mean prediction of fitted trees, without scikit-learn's overhead per call and tree.

    Parameters
    ----------
    trees
        The `tree_` of scikit-learn's regression or classification trees.
    classes
        Classes of classification trees.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> fitted = ExtraTreesRegressor(5, random_state=0).fit(X, X[:, 0])
    >>> np.allclose(Forest([tree.tree_ for tree in fitted.estimators_]).predict(X), fitted.predict(X))
    True
    """

    def __init__(self, trees: Sequence[Any], classes: Any = None) -> None:
        self._trees, self.classes_ = trees, classes

    def predict(self, X: Floats) -> Floats:
        """Return the mean prediction of regression trees."""
        return self.predict_proba(X)[:, 0]

    def predict_proba(self, X: Floats) -> Floats:
        """Return the mean output of the trees, (rows, outputs)."""
        rows = X.astype(np.float32)  # the precision in which trees compare
        return np.asarray(sum(tree.predict(rows) for tree in self._trees) / len(self._trees))


def fit_forest(estimator: Any, X: Floats, y: Any, **options: Any) -> Any:
    """Fit an estimator and return it, or a `Forest` of its trees if it is a scikit-learn forest.

    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> trees = ExtraTreesRegressor(5, random_state=0)
    >>> np.allclose(fit_forest(trees, X, X[:, 0]).predict(X), trees.fit(X, X[:, 0]).predict(X))
    True
    """
    from sklearn import ensemble

    extra_trees = (ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor)
    random_forests = (ensemble.RandomForestClassifier, ensemble.RandomForestRegressor)
    if type(estimator) not in (*extra_trees, *random_forests):
        return estimator.fit(X, y, **options)
    classes = np.unique(y) if hasattr(estimator, "predict_proba") else None
    rows = X.astype(np.float32)
    # With numbers that are not finite, scikit-learn raises the error.
    if type(estimator) in extra_trees and _has_default_trees(estimator) and np.isfinite(rows).all():
        with suppress(ImportError, TypeError):  # another version of scikit-learn's private modules
            return Forest(_grow_trees(estimator, rows, y, **options), classes)
    return Forest([tree.tree_ for tree in estimator.fit(X, y, **options).estimators_], classes)


def _has_default_trees(forest: Any) -> bool:
    """Return whether extra trees use all rows, full depth and defaults apart from `max_features`."""
    parameters = {name: getattr(forest, name) for name in ("n_estimators", "max_features", "random_state")}
    default = type(forest)(**parameters).get_params()
    return forest.max_features in ("sqrt", 1.0) and bool(default == forest.get_params())


def _grow_trees(forest: Any, rows: Any, y: Any, sample_weight: Floats | None = None) -> list[Any]:
    """Return the trees that `forest.fit` grows, in a quarter of the time for small samples.

    scikit-learn builds and validates everything for each tree, although only the seed differs. A loop over
    the public `ExtraTreeRegressor.fit` would need no private module, but a run with 60 to 400 labels would
    take about 30 % longer for numbers and up to 56 % longer for classes.
    """
    from sklearn.tree._criterion import MSE, Gini
    from sklearn.tree._splitter import RandomSplitter
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree
    from sklearn.utils import check_random_state

    dim = rows.shape[1]
    max_features = dim if forest.max_features == 1.0 else max(1, int(np.sqrt(dim)))
    if hasattr(forest, "predict_proba"):
        classes, codes = np.unique(y, return_inverse=True)
        outputs = np.array([len(classes)], dtype=np.intp)
        criterion, target = Gini(1, outputs), codes.astype(np.float64)[:, None]
    else:
        outputs = np.array([1], dtype=np.intp)
        criterion, target = MSE(1, len(y)), np.ascontiguousarray(y, dtype=np.float64)[:, None]
    weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    rng, tree_rng = check_random_state(forest.random_state), np.random.RandomState(0)
    splitter = RandomSplitter(criterion, max_features, 1, 0.0, tree_rng, None)
    builder = DepthFirstTreeBuilder(splitter, 2, 1, 0.0, np.iinfo(np.int32).max, 0.0)
    trees = [Tree(dim, outputs, 1) for _ in range(forest.n_estimators)]
    for tree in trees:
        tree_rng.seed(rng.randint(np.iinfo(np.int32).max))
        builder.build(tree, rows, target, weights)
    return trees
