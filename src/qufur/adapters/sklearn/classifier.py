"""scikit-learn classifier that reads only the labels it buys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from qufur.adapters.sklearn.estimator import ROWS, StreamEstimator
from qufur.arrays import Bools, Floats
from qufur.errors import invalid
from qufur.models import Converged, Experts, Softmax
from qufur.models._softmax_state import SoftmaxState
from qufur.models.base import Model
from qufur.models.ensemble.state import EnsembleState


@dataclass(kw_only=True, eq=False, repr=False)
class QuFURClassifier(ClassifierMixin, StreamEstimator):  # type: ignore[misc]
    """Classifier that queries its labels within a budget.

    It works like `QuFURRegressor`: the model is `Experts`, or logistic regression with `model=Softmax`. The
    classes must be known beforehand: `fit` reads their names from y, `partial_fit` and `query` get them in
    the first call. The class of a row is read only if its label is bought. The other parameters and
    attributes are those of `QuFURRegressor`; the learner's classes are numbers.

    Parameters
    ----------
    model
        As in `QuFURRegressor`, but the class of the linear model is `qufur.Softmax`. Classes that the
        model declares must be those of y.
    regularization
        λ > 0 of the uncertainty, for scaled inputs.
    penalty
        Penalty > 0 of the weights of `Softmax`, as in `Converged`. It corresponds to 1/(nC) of
        `LogisticRegression` for n labels.

    Attributes
    ----------
    classes_
        Names of the classes, sorted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0.5, "yes", "no")
    >>> model = QuFURClassifier(budget=30, random_state=1).fit(X, y)
    >>> model.n_queries_, round(model.score(X, y), 3)
    (30, 0.95)
    """

    linear = Softmax
    linear_settings = (*StreamEstimator.linear_settings, "penalty")

    penalty: float = 1e-3

    def fit(self, X: Any, y: Any) -> Self:
        """Reset, then replay the rows in order; only queried labels are read."""
        X, y = validate_data(self, X, y, **ROWS)
        check_classification_targets(y)
        self._set_classes(y)
        self._start(X, len(X))
        return self._replay(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue with the next rows; the first call must name the classes."""
        X, y = validate_data(self, X, y, **ROWS, reset=self._is_new)
        check_classification_targets(y)
        self._check_classes(classes)
        return self._replay(X, y)

    def query(self, X: Any, classes: Any = None) -> Bools:
        """Return a mask of the rows to label; the first call must name the classes."""
        self._check_classes(classes)
        return super().query(X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row."""
        rows = self._validated_inputs(X)
        return self.classes_[self.learner_.predict(rows).astype(np.int64)]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, in the order of `classes_`."""
        rows = self._validated_inputs(X)
        return cast(SoftmaxState | EnsembleState, self.learner_.state).probabilities(rows)

    def _ensemble(self) -> Model:
        classes = self.classes_.tolist()
        model = Experts() if self.model is None else self.model
        if model.classes is not None and set(model.classes) != set(classes):
            raise invalid("model", "QuFURClassifier", f"for the classes {classes}", repr(model))
        return replace(model, classes=range(len(classes)))

    def _linear_model(self) -> Softmax:
        return Softmax(
            self.n_features_in_ + self.intercept,
            len(self.classes_),
            regularization=self.regularization,
            training=Converged(penalty=self.penalty),
        )

    def _inputs(self, X: Floats) -> Floats:
        rows = super()._inputs(X)
        has_constant = (self.learner_.dim or 0) > rows.shape[1]
        return np.column_stack([rows, np.ones(len(rows))]) if has_constant else rows

    def _encoded(self, y: Any) -> Any:
        return self._encoder.transform(y)

    def _check_classes(self, classes: Any) -> None:
        if self._is_new:
            if classes is None:
                raise invalid("classes", type(self).__name__, "given in the first call", "None")
            self._set_classes(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            allowed = f"those of the first call, {self.classes_.tolist()}"
            raise invalid("classes", type(self).__name__, allowed, repr(classes))

    def _set_classes(self, names: Any) -> None:
        encoder = LabelEncoder().fit(np.asarray(names))
        if len(encoder.classes_) < 2:
            received = f"{len(encoder.classes_)} class"
            raise invalid("y", type(self).__name__, "of at least two classes", received)
        self._encoder, self.classes_ = encoder, encoder.classes_
