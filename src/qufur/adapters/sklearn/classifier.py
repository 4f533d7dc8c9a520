"""Classification for scikit-learn that looks only at the labels it buys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from qufur.adapters.sklearn.estimator import ROWS, StreamEstimator
from qufur.arrays import Bools, Floats
from qufur.errors import invalid
from qufur.models import Converged, Experts, Softmax
from qufur.models.base import Model
from qufur.models.experts.committee import Committee
from qufur.models.experts.state import CommitteeState
from qufur.models.softmax_state import SoftmaxState


class QuFURClassifier(ClassifierMixin, StreamEstimator):  # type: ignore[misc]
    """Classification that buys its labels one by one, within a budget.

    Like `QuFURRegressor`: the model is `Experts`, or with `model=Softmax` logistic regression. Which classes
    there are must be known beforehand: `fit` takes their names from y, `partial_fit` and `query` are told at
    the first call. Which row has which is looked at only where the label is bought. The other parameters and
    attributes are those of `QuFURRegressor`; the learner's classes are numbers.

    Parameters
    ----------
    model
        As in `QuFURRegressor`, but the class of the linear model is `qufur.Softmax`. Classes that it names
        must be those of y.
    regularization
        λ > 0 of the uncertainty, for inputs as they are after scaling.
    penalty
        Above 0: that of the weights of `Softmax`, as in `Converged`. `LogisticRegression` calls it 1/(nC),
        for n labels.

    Attributes
    ----------
    classes_
        The names of the classes, sorted.

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

    def __init__(
        self,
        *,
        model: Any = None,
        budget: int | float | str | None = None,
        alpha: float | None = None,
        regularization: float = 1.0,
        penalty: float = 1e-3,
        intercept: bool = True,
        scale: bool = True,
        floor: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.budget = budget
        self.alpha = alpha
        self.regularization = regularization
        self.penalty = penalty
        self.intercept = intercept
        self.scale = scale
        self.floor = floor
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> QuFURClassifier:
        """Start anew and replay the rows in order; only labels that are bought are looked at."""
        X, y = validate_data(self, X, y, **ROWS)
        check_classification_targets(y)
        self._name_classes(y)
        self._start(X, len(X))
        return cast(QuFURClassifier, self._replay(X, y))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> QuFURClassifier:
        """Go on with the next rows; the first call must name the classes."""
        X, y = validate_data(self, X, y, **ROWS, reset=self._is_new)
        check_classification_targets(y)
        self._meet_classes(classes)
        if self._is_new:
            self._start(X, None)
        return cast(QuFURClassifier, self._replay(X, y))

    def query(self, X: Any, classes: Any = None) -> Bools:
        """Say which rows' labels are wanted; the first call must name the classes."""
        self._meet_classes(classes)
        return super().query(X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row."""
        rows = self._known(X)
        return self.classes_[self.learner_.predict(rows).astype(np.int64)]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, in the order of `classes_`."""
        rows = self._known(X)
        return cast(SoftmaxState | CommitteeState, self.learner_.state).probabilities(rows)

    def _experts(self) -> Model:
        return Experts(classes=range(len(self.classes_)))

    def _given_model(self, model: Committee) -> Model:
        own = self.classes_.tolist()
        if model.classes is not None and set(model.classes) != set(own):
            raise invalid("model", "QuFURClassifier", f"for the classes {own}", repr(model))
        return replace(model, classes=range(len(own)))

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

    def _meet_classes(self, classes: Any) -> None:
        if self._is_new:
            if classes is None:
                raise invalid("classes", type(self).__name__, "given in the first call", "None")
            self._name_classes(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            allowed = f"those of the first call, {self.classes_.tolist()}"
            raise invalid("classes", type(self).__name__, allowed, repr(classes))

    def _name_classes(self, names: Any) -> None:
        encoder = LabelEncoder().fit(np.asarray(names))
        if len(encoder.classes_) < 2:
            received = f"{len(encoder.classes_)} class"
            raise invalid("y", type(self).__name__, "of at least two classes", received)
        self._encoder, self.classes_ = encoder, encoder.classes_
