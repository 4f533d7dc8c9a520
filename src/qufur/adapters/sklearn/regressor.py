"""Ridge regression for scikit-learn that looks only at the labels it buys."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from qufur.adapters.sklearn.estimator import ROWS, StreamEstimator
from qufur.adapters.sklearn.free_intercept import scores_and_variances
from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models import Experts, Ridge
from qufur.models.base import Model
from qufur.models.experts.committee import Committee
from qufur.models.gram.gram import Gram
from qufur.models.least_squares_state import LeastSquaresState

FARTHEST = 2e4
"""The largest intercept in units of σ̂: the least λ that `Fit` tries leaves 10⁻⁵ of it among the errors."""


class QuFURRegressor(RegressorMixin, StreamEstimator):  # type: ignore[misc]
    """Regression that buys its labels one by one, within a budget.

    `fit(X, y)` replays the rows in order as a stream and looks only at the labels that it buys. The model is
    `Experts`, which takes most tables as they come, and seconds for hundreds of labels. With `model=Ridge`
    it predicts, at once, as scikit-learn's `Ridge(alpha=regularization)` does after those rows: the intercept
    is not penalised.

    Parameters
    ----------
    model
        None is `Experts()`, the model of the command line. Others are `Experts(...)`, `Refit(...)` and, for
        ridge regression, the class `qufur.Ridge` itself.
    budget
        None buys every label, or with `alpha` every label that the rule wants. A count such as 500 is never
        exceeded. A share such as 0.05 or "5%" is of the rows of `fit`; where the learner starts with
        `partial_fit` or `query` it is a rate, as `Steady` takes it, or for `Ridge` `Paced`. 1 is one label,
        1.0 is all of them.
    alpha
        None paces the budget over the rows: by `Steady`, or for `Ridge` by `Paced`. A number is α of
        `QuFUR`, and the budget a cap. It is not the penalty that scikit-learn's `Ridge` calls so: that is
        `regularization`.
    regularization
        λ > 0, for inputs as they are after scaling. It serves predictions and uncertainties. Only `Ridge`
        takes it, and `intercept`, `scale` and `floor`; the last goes with `alpha` as well.
    label_range
        (lowest, highest) label, if known: predictions are then clipped to it. With None experts learn it from
        the labels; `Ridge` does not clip, and `learner_.report()` is for labels in [−1, 1]. A `model` that is
        given has its own.
    intercept
        Whether there is a constant beside the inputs.
    scale
        Whether inputs are scaled to mean 0 and deviation 1, those of the first rows: all of `fit`, or the
        first batch of `partial_fit` or `query`. Labels play no part.
    floor
        The least probability of a query while labels are left, so that the error stays measurable.
    random_state
        An int, a Generator or a RandomState; None differs from run to run.

    Attributes
    ----------
    queried_
        Numbers of the rows whose labels were bought, counted from the first row seen: `X[queried_]`.
    n_queries_
        How many.
    pending_
        Numbers of the rows that `query` asked for and `teach` has not been told.
    learner_
        The `Learner`, with all that it can do; its inputs are `scaler_.transform(X)`.
    scaler_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0] + 50 + 0.1 * rng.normal(size=300)
    >>> model = QuFURRegressor(budget=30, random_state=1).fit(X, y)
    >>> model.n_queries_, round(model.score(X, y), 3)
    (30, 0.996)
    """

    linear = Ridge

    def __init__(
        self,
        *,
        model: Any = None,
        budget: int | float | str | None = None,
        alpha: float | None = None,
        regularization: float = 1.0,
        label_range: tuple[float, float] | None = None,
        intercept: bool = True,
        scale: bool = True,
        floor: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.budget = budget
        self.alpha = alpha
        self.regularization = regularization
        self.label_range = label_range
        self.intercept = intercept
        self.scale = scale
        self.floor = floor
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> QuFURRegressor:
        """Start anew and replay the rows in order; only labels that are bought are looked at."""
        X, y = validate_data(self, X, y, **ROWS, y_numeric=True)
        self._start(X, len(X))
        return cast(QuFURRegressor, self._replay(X, y))

    def partial_fit(self, X: Any, y: Any) -> QuFURRegressor:
        """Go on with the next rows, within the budget that the learner started with."""
        X, y = validate_data(self, X, y, **ROWS, y_numeric=True, reset=self._is_new)
        if self._is_new:
            self._start(X, None)
        return cast(QuFURRegressor, self._replay(X, y))

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Predict from the labels that have come.

        Parameters
        ----------
        X
            The rows.
        return_std
            Whether to return σ̂√q as well, the standard deviation of the learned function at x in the user's
            units: q = ‖x‖² in M⁻¹ and σ̂ is `learner_.state.fit().noise`. The noise of a label comes on top.
            It supposes that the model fits. NaN where the labels leave σ̂ open: while they are few, and where
            they lie so far from 0 that σ̂ drowns in it. A `label_range` mends that. Only for `model=Ridge`;
            experts have intervals, `learner_.predict(X, interval=0.9)`.
        """
        rows = self._known(X)
        if not isinstance(self.learner_.model, Ridge):
            if return_std:
                remedy = "learner_.predict(X, interval=0.9) has intervals."
                raise invalid("return_std", "QuFURRegressor", "False unless model=Ridge", "True", remedy)
            return self.learner_.predict(rows)
        state = cast(LeastSquaresState, self.learner_.state)
        model = cast(Ridge, state.model)
        scores, variances = scores_and_variances(model, cast(Gram, state.labelled), rows)
        if not return_std:
            return model.unscaled(scores)
        return model.unscaled(scores), _noise(state) * np.sqrt(variances)

    def __sklearn_tags__(self) -> Any:
        # scikit-learn's checks take any `alpha` for a penalty, and set it to 0.01: that buys hardly a label.
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.alpha is not None
        return tags

    def _experts(self) -> Model:
        return Experts(label_range=self.label_range)

    def _given_model(self, model: Committee) -> Model:
        if model.classes is not None:
            raise invalid("model", "QuFURRegressor", "for numbers", f"one for classes, {model!r}")
        if self.label_range is not None:
            remedy = "Give it to the model."
            raise invalid("label_range", "QuFURRegressor", "None beside a model", self.label_range, remedy)
        return model

    def _linear_model(self) -> Ridge:
        return Ridge(
            self.n_features_in_,
            regularization=self.regularization,
            intercept=self.intercept,
            intercept_penalty=1.0,  # predictions are freed from it altogether, for labels anywhere
            clip=self.label_range is not None,
            label_range=(-1.0, 1.0) if self.label_range is None else self.label_range,
        )

    def _encoded(self, y: Any) -> Any:
        return y


def _noise(state: LeastSquaresState) -> float:
    """Return σ̂ in the user's units, or NaN where it is not to be trusted."""
    model, noise = cast(Ridge, state.model), state.fit().noise
    low, high = model.label_range
    offset = model.intercept * abs(cast(Gram, state.labelled).coef[-1]) * (high - low) / 2
    return np.nan if noise is None or offset > FARTHEST * noise else noise
