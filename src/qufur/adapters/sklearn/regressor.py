"""scikit-learn regressor that reads only the labels it buys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from qufur.adapters.sklearn.estimator import ROWS, StreamEstimator
from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models import Experts, Ridge
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models.base import Model
from qufur.models.ensemble.model import EnsembleModel
from qufur.models.gram.gram import Gram

MIN_SHARE = 1e-12
"""If 1 − λeᵀM⁻¹e is below it, labels are missing or negligible beside λ; the intercept stays penalised."""


def scores_and_variances(model: Ridge, gram: Gram, X: Floats) -> tuple[Floats, Floats]:
    """Return ⟨θ̂, x⟩ and q = ‖x‖² in M⁻¹ of each row, without a penalty on the constant.

    Labels may be centred anywhere, so users expect an intercept that λ does not pull to 0. With e the
    constant's coordinate, M − λeeᵀ has the inverse M⁻¹ + λM⁻¹eeᵀM⁻¹/(1 − λeᵀM⁻¹e) (Sherman and Morrison):
    the same as scikit-learn's `Ridge`, which centres inputs and labels. O(d) per row beyond q.

    Examples
    --------
    >>> model = Ridge(1, intercept=True, clip=False)
    >>> gram = model.posterior()
    >>> gram.add(model.features(np.array([[-1.0], [1.0]])), np.array([99.0, 101.0]))
    >>> scores_and_variances(model, gram, np.array([[0.0]]))[0].round(6)
    array([100.])
    """
    rows = model.features(X)
    scores, variances = gram.scores(rows), gram.variance(rows)
    constant = np.zeros((1, rows.shape[1]))
    constant[0, -1] = model.intercept
    inverse_column = gram.solve(constant)[0]  # M⁻¹e
    share = 1.0 - model.penalty * inverse_column[-1]
    if not model.intercept or share < MIN_SHARE:
        return scores, variances
    products, factor = rows @ inverse_column, model.penalty / share
    return scores + factor * gram.coef[-1] * products, variances + factor * products**2


MAX_INTERCEPT_OVER_NOISE = 2e4
"""Largest intercept in units of σ̂: the smallest λ that `Fit` tries leaves 10⁻⁵ of it in the residuals."""


@dataclass(kw_only=True, eq=False, repr=False)
class QuFURRegressor(RegressorMixin, StreamEstimator):  # type: ignore[misc]
    """Regressor that queries its labels within a budget.

    `fit(X, y)` replays the rows in order as a stream and reads only the labels that it buys. The model is
    `Experts`, which needs no preprocessing and takes seconds for hundreds of labels. With `model=Ridge` it
    learns each label immediately and predicts like scikit-learn's `Ridge(alpha=regularization)` on the
    queried rows: the intercept is not penalised.

    Parameters
    ----------
    model
        None (the same as `Experts()`, the model of the command line), `Experts(...)`, `Refit(...)` or, for
        ridge regression, the class `qufur.Ridge` itself.
    budget
        None buys every label or, with `alpha`, every label that the rule queries. A count such as 500 is
        never exceeded. A share such as 0.05 or "5%" refers to the rows of `fit`; if the learner starts with
        `partial_fit` or `query`, it is a rate of `Steady`, or of `Paced` for `Ridge`. 1 is one label, 1.0 all
        labels.
    alpha
        None paces the budget over the rows with `Steady`, or with `Paced` for `Ridge`. A number is α of
        `QuFUR`, and the budget is a cap. The penalty that scikit-learn's `Ridge` calls `alpha` is
        `regularization` here.
    regularization
        λ > 0 of predictions and uncertainties, for scaled inputs. Only `Ridge` accepts `regularization`,
        `intercept`, `scale` and `floor`; `floor` is also accepted with `alpha`.
    label_range
        (lowest, highest) label, if known: predictions are clipped to it. With None, experts learn it from the
        labels; `Ridge` does not clip, and `learner_.report()` is valid for labels in [−1, 1] only. If `model`
        is an instance, pass the range to the model instead.
    intercept
        Whether the model has an intercept.
    scale
        Whether inputs are standardised with the mean and deviation of the first rows: all rows of `fit`, or
        the first batch of `partial_fit` or `query`. Labels are not used.
    floor
        Smallest probability of a query while labels are left, so that the error stays measurable.
    random_state
        An int, a Generator or a RandomState; None differs from run to run.

    Attributes
    ----------
    queried_
        Numbers of the rows whose labels were bought, counted from the first row seen: `X[queried_]`.
    n_queries_
        Number of labels bought.
    pending_
        Numbers of the rows that `query` selected and whose labels `teach` has not received.
    learner_
        The underlying `Learner`; its inputs are `scaler_.transform(X)`.
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

    label_range: tuple[float, float] | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Reset, then replay the rows in order; only queried labels are read."""
        X, y = validate_data(self, X, y, **ROWS, y_numeric=True)
        self._start(X, len(X))
        return self._replay(X, y)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Continue with the next rows, within the budget of the first call."""
        X, y = validate_data(self, X, y, **ROWS, y_numeric=True, reset=self._is_new)
        return self._replay(X, y)

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Predict from the labels received so far.

        Parameters
        ----------
        X
            The rows.
        return_std
            Whether to return σ̂√q as well, the standard deviation of the learned function at x in the user's
            units: q = ‖x‖² in M⁻¹ and σ̂ is `learner_.state.fit().noise`. It excludes the noise of a label
            and assumes that the model fits. NaN if σ̂ is not identified: with few labels, or if labels are so
            far from 0 that σ̂ is lost in rounding; set `label_range` then. Only for `model=Ridge`; experts
            have intervals, `learner_.predict(X, interval=0.9)`.

        Returns
        -------
        Floats or (Floats, Floats)
            Predictions; with `return_std`, predictions and standard deviations.
        """
        rows = self._validated_inputs(X)
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
        # scikit-learn's checks treat any `alpha` as a penalty and set it to 0.01, which buys few labels.
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.alpha is not None
        return tags

    def _ensemble(self) -> Model:
        if self.model is None:
            return Experts(label_range=self.label_range)
        if self.model.classes is not None:
            raise invalid("model", "QuFURRegressor", "for numbers", f"one for classes, {self.model!r}")
        if self.label_range is not None:
            remedy = "Pass it to the model."
            raise invalid("label_range", "QuFURRegressor", "None beside a model", self.label_range, remedy)
        return cast(EnsembleModel, self.model)

    def _linear_model(self) -> Ridge:
        return Ridge(
            self.n_features_in_,
            regularization=self.regularization,
            intercept=self.intercept,
            intercept_penalty=1.0,  # `scores_and_variances` removes the penalty
            clip=self.label_range is not None,
            label_range=(-1.0, 1.0) if self.label_range is None else self.label_range,
        )


def _noise(state: LeastSquaresState) -> float:
    """Return σ̂ in the user's units, or NaN if it is unreliable."""
    model, noise = cast(Ridge, state.model), state.fit().noise
    low, high = model.label_range
    offset = model.intercept * abs(cast(Gram, state.labelled).coef[-1]) * (high - low) / 2
    return np.nan if noise is None or offset > MAX_INTERCEPT_OVER_NOISE * noise else noise
