"""What the scikit-learn estimators have in common: rows replayed as a stream, or asked about."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from qufur.adapters.linear_settings import refuse_linear_settings
from qufur.arrays import Bools, Floats, Ints, as_number, is_whole
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models.base import Model
from qufur.models.experts.committee import Committee
from qufur.models.regression import as_flag
from qufur.rules import Rule, Uniform
from qufur.rules.from_budget import rule_from_budget
from qufur.run import run
from qufur.streams import Arrays

ROWS = {"dtype": np.float64, "order": "C"}
"""How rows are taken in: sums must not round differently for a data frame, which is stored by columns."""


class StreamEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator over a learner. `QuFURRegressor` describes parameters and attributes."""

    linear: type[Model]
    linear_settings: tuple[str, ...] = ("regularization", "intercept", "scale")
    model: Any
    budget: Any
    alpha: Any
    regularization: Any
    intercept: Any
    scale: Any
    floor: Any
    random_state: Any
    learner_: Learner

    def query(self, X: Any) -> Bools:
        """Say which rows' labels are wanted; `teach` gives them, now or later.

        Rows are numbered on from those seen before. The first call of all starts a new learner, as
        `partial_fit` does. Within a batch no two rows are asked for where one label settles both.

        Returns
        -------
        mask
            One bool per row of X.
        """
        X = validate_data(self, X, **ROWS, reset=self._is_new)
        if self._is_new:
            self._start(X, None)
        first = self.learner_.next_id
        return self._note(first, self.learner_.ask_many(self._inputs(X)).query)

    def teach(self, y: Any, rows: Any = None) -> Any:
        """Learn labels that `query` asked for.

        Parameters
        ----------
        y
            The labels.
        rows
            The numbers of their rows, some of `pending_`; by default all of them, in that order.
        """
        check_is_fitted(self, "learner_")
        ids = (self.pending_ if rows is None else np.atleast_1d(rows)).tolist()
        labels = np.atleast_1d(y)
        if labels.shape != (len(ids),):
            allowed = f"{len(ids)} labels, one for each row that is told"
            raise invalid("y", type(self).__name__, allowed, f"shape {labels.shape}")
        self.learner_.tell_many(ids, self._encoded(labels))
        return self

    @property
    def pending_(self) -> Ints:
        """Numbers of the rows whose labels were asked for and have not come."""
        return np.array(self.learner_.outstanding, dtype=np.int64)

    @property
    def n_queries_(self) -> int:
        """How many labels were bought."""
        return self.learner_.spent

    @property
    def _is_new(self) -> bool:
        return not hasattr(self, "learner_")

    @property
    def _is_linear(self) -> bool:
        return self.model is self.linear

    @abstractmethod
    def _linear_model(self) -> Model:
        """Return the linear model for inputs of `n_features_in_` columns."""

    @abstractmethod
    def _experts(self) -> Model:
        """Return the model where none is given."""

    @abstractmethod
    def _given_model(self, model: Committee) -> Model:
        """Return the model that is given as it is used here, or refuse it."""

    def _model(self) -> Model:
        if self._is_linear:
            return self._linear_model()
        owner, floor = type(self).__name__, ("floor",) * (self.alpha is None)
        refuse_linear_settings(self, (*self.linear_settings, *floor), self.linear)
        if self.model is None:
            return self._experts()
        if not isinstance(self.model, Committee):
            allowed = f"None, Experts(...), Refit(...) or the class {self.linear.__name__}"
            raise invalid("model", owner, allowed, repr(self.model))
        return self._given_model(self.model)

    @abstractmethod
    def _encoded(self, y: Any) -> Any:
        """Return labels as the model takes them."""

    def _inputs(self, X: Floats) -> Floats:
        return np.asarray(self.scaler_.transform(X))

    def _start(self, X: Floats, rows: int | None) -> None:
        owner = type(self).__name__
        for name in ("intercept", "scale"):
            as_flag(getattr(self, name), name, owner)
        as_number(self.regularization, "regularization", owner, low=0)
        rule, model, seed = self._rule(rows), self._model(), seed_of(self.random_state, owner)
        scale = self.scale and not model.scales_inputs
        self.scaler_ = StandardScaler(with_mean=scale, with_std=scale).fit(X)
        self.queried_: Ints = np.empty(0, dtype=np.int64)
        self.learner_ = Learner(model, rule, seed=seed)

    def _rule(self, rows: int | None) -> Rule:
        if self.budget is None and self.alpha is None:
            return Uniform(1.0)
        owner, remedy = type(self).__name__, "fit knows how many, and partial_fit and query do not."
        steady = not self._is_linear
        how = {"rows": rows, "floor": self.floor, "owner": owner, "remedy": remedy, "steady": steady}
        return rule_from_budget(self.budget, self.alpha, **how)

    def _replay(self, X: Floats, y: Any) -> Any:
        first = self.learner_.next_id
        self._note(first, run(self.learner_, Arrays(self._inputs(X), self._encoded(y))).query)
        return self

    def _note(self, first: int, query: Bools) -> Bools:
        self.queried_ = np.concatenate([self.queried_, first + np.flatnonzero(query)])
        return query

    def _known(self, X: Any) -> Floats:
        """Return rows to predict for, as the model takes them."""
        check_is_fitted(self, "learner_")
        return self._inputs(validate_data(self, X, **ROWS, reset=False))


def seed_of(random_state: Any, owner: str) -> int | np.random.Generator:
    """Return the seed of a learner; a RandomState is drawn from, and None is a fresh start each time.

    >>> seed_of(3, "docs")
    3
    """
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if not is_whole(random_state) or random_state < 0:
        allowed = "None, an integer of at least 0, a RandomState or a Generator"
        raise invalid("random_state", owner, allowed, repr(random_state))
    return int(random_state)
