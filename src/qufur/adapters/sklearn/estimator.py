"""Base class of the scikit-learn estimators, and the check of options for linear models only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from qufur.arrays import Bools, Floats, Ints, as_number, is_integer
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models._regression import as_flag
from qufur.models.base import Model
from qufur.models.ensemble.model import EnsembleModel
from qufur.rules import Rule, Uniform
from qufur.rules.from_budget import rule_from_budget
from qufur.run import run
from qufur.streams import Arrays


def reject_linear_settings(estimator: Any, names: Iterable[str], linear: type[Model]) -> None:
    """Raise `InvalidError` if an option of the linear model differs from its default.

    Callers use it if the model is an ensemble, which has no such option.

    >>> from qufur import Ridge
    >>> from qufur.adapters.skactiveml import StreamQuFUR
    >>> reject_linear_settings(StreamQuFUR(intercept=False), ["intercept"], Ridge)
    Traceback (most recent call last):
    qufur.errors.InvalidError: intercept of StreamQuFUR must be omitted with experts, got False. ...
    """
    parameters = signature(type(estimator)).parameters
    for name in names:
        value = getattr(estimator, name)
        if value != parameters[name].default:
            remedy = f"model={linear.__name__} accepts it."
            raise invalid(name, type(estimator).__name__, "omitted with experts", repr(value), remedy)


ROWS = {"dtype": np.float64, "order": "C"}
"""Options of the validation of rows. C order makes sums of a data frame, stored by columns, round alike."""


@dataclass(kw_only=True, eq=False, repr=False)
class StreamEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base class of estimators over a `Learner`. See `QuFURRegressor` for parameters and attributes."""

    linear: ClassVar[type[Model]]
    linear_settings: ClassVar[tuple[str, ...]] = ("regularization", "intercept", "scale")

    model: Any = None
    budget: int | float | str | None = None
    alpha: float | None = None
    regularization: float = 1.0
    intercept: bool = True
    scale: bool = True
    floor: float = 0.0
    random_state: Any = None

    def query(self, X: Any) -> Bools:
        """Return a mask of the rows to label; `teach` supplies the labels, now or later.

        Row numbers continue from the rows seen before. The first call creates the learner, as
        `partial_fit` does. Within a batch, near-duplicates are not queried twice.

        Returns
        -------
        mask
            One bool per row of X.
        """
        X = validate_data(self, X, **ROWS, reset=self._is_new)
        return self._record(X, lambda inputs: self.learner_.ask_many(inputs).query)

    def teach(self, y: Any, rows: Any = None) -> Any:
        """Learn the labels of queried rows.

        Parameters
        ----------
        y
            The labels.
        rows
            The numbers of their rows, some of `pending_`; by default all of them, in that order.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self, "learner_")
        ids = (self.pending_ if rows is None else np.atleast_1d(rows)).tolist()
        labels = np.atleast_1d(y)
        if labels.shape != (len(ids),):
            allowed = f"{len(ids)} labels, one for each row"
            raise invalid("y", type(self).__name__, allowed, f"shape {labels.shape}")
        self.learner_.tell_many(ids, self._encoded(labels))
        return self

    @property
    def pending_(self) -> Ints:
        """Numbers of the rows whose labels are pending."""
        return np.array(self.learner_.outstanding, dtype=np.int64)

    @property
    def n_queries_(self) -> int:
        """Number of labels bought."""
        return self.learner_.spent

    @property
    def _is_new(self) -> bool:
        return not hasattr(self, "learner_")

    @abstractmethod
    def _linear_model(self) -> Model:
        """Return the linear model for inputs of `n_features_in_` columns."""

    @abstractmethod
    def _ensemble(self) -> Model:
        """Return the user's ensemble adapted to this estimator, by default `Experts`."""

    def _model(self) -> Model:
        if self.model is self.linear:
            return self._linear_model()
        floor = ("floor",) if self.alpha is None else ()
        reject_linear_settings(self, (*self.linear_settings, *floor), self.linear)
        if not isinstance(self.model, EnsembleModel | None):
            allowed = f"None, Experts(...), Refit(...) or the class {self.linear.__name__}"
            raise invalid("model", type(self).__name__, allowed, repr(self.model))
        return self._ensemble()

    def _encoded(self, y: Any) -> Any:
        """Return labels as numbers for the model."""
        return y

    def _inputs(self, X: Floats) -> Floats:
        return np.asarray(self.scaler_.transform(X))

    def _start(self, X: Floats, rows: int | None) -> None:
        owner = type(self).__name__
        for name in ("intercept", "scale"):
            as_flag(getattr(self, name), name, owner)
        as_number(self.regularization, "regularization", owner, low=0)
        rule, model, seed = self._rule(rows), self._model(), seed_of(self.random_state, owner)
        scale = self.scale and not model.tags.scales_inputs
        self.scaler_ = StandardScaler(with_mean=scale, with_std=scale).fit(X)
        self.queried_: Ints = np.empty(0, dtype=np.int64)
        self.learner_ = Learner(model, rule, seed=seed)

    def _rule(self, rows: int | None) -> Rule:
        if self.budget is None and self.alpha is None:
            return Uniform(1.0)
        owner, remedy = type(self).__name__, "fit knows their number; partial_fit and query do not."
        steady, floor = self.model is not self.linear, self.floor
        return rule_from_budget(
            self.budget, self.alpha, rows=rows, floor=floor, owner=owner, remedy=remedy, steady=steady
        )

    def _replay(self, X: Floats, y: Any) -> Self:
        """Run the learner on the next rows."""
        self._record(X, lambda inputs: run(self.learner_, Arrays(inputs, self._encoded(y))).query)
        return self

    def _record(self, X: Floats, decide: Callable[[Floats], Bools]) -> Bools:
        """Decide the next rows, create the learner if these are the first, and record the queries."""
        if self._is_new:
            self._start(X, None)
        first = self.learner_.next_id
        query = decide(self._inputs(X))
        self.queried_ = np.concatenate([self.queried_, first + np.flatnonzero(query)])
        return query

    def _validated_inputs(self, X: Any) -> Floats:
        """Validate rows and return them as inputs of the model."""
        check_is_fitted(self, "learner_")
        return self._inputs(validate_data(self, X, **ROWS, reset=False))


def seed_of(random_state: Any, owner: str) -> int | np.random.Generator:
    """Return the seed of a learner: drawn from a RandomState, or fresh entropy for None.

    >>> seed_of(3, "docs")
    3
    """
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if not is_integer(random_state) or random_state < 0:
        allowed = "None, an integer of at least 0, a RandomState or a Generator"
        raise invalid("random_state", owner, allowed, repr(random_state))
    return int(random_state)
