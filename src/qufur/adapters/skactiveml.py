"""Stream query strategy (Δ as utility) and budget managers for scikit-activeml."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qufur.adapters.sklearn.estimator import reject_linear_settings
from qufur.arrays import Bools, Floats, as_count
from qufur.errors import invalid, missing_extra
from qufur.models import Experts, Ridge
from qufur.models.base import Model, State
from qufur.models.ensemble.model import EnsembleModel
from qufur.pending import Pending
from qufur.rules import Rule
from qufur.rules.from_budget import as_amount, rule_from_budget
from qufur.rules.spending import Spending

try:
    from skactiveml.base import BudgetManager, SingleAnnotatorStreamQueryStrategy
    from skactiveml.utils import call_func, check_budget_manager, check_type
    from sklearn.utils import check_random_state
except ImportError:
    raise missing_extra("scikit-activeml", "activeml", "qufur.adapters.skactiveml") from None

Indices = NDArray[np.intp]
DEFAULT_RATE = 0.1


def _set_budget(self: PacedBudgetManager | StreamQuFUR) -> None:
    budget = DEFAULT_RATE if self.budget is None else self.budget
    self.budget_ = as_amount(budget, type(self).__name__)


@dataclass(kw_only=True, eq=False, repr=False)
class PacedBudgetManager(BudgetManager):
    """Budget manager with the rule `Paced`: queries high utilities and never exceeds the budget.

    Parameters
    ----------
    budget
        ρ, the share of samples that may be queried, such as 0.05 or "5%"; None means 0.1. No n samples in a
        row have more than ρn + `burst` queries. With a horizon it may be a count, such as 500.
    horizon
        Number of samples, if known. The limit is then ρ · horizon queries in total, rounded and at least 1,
        and there is no other limit.
    burst
        Largest number of queries beyond ρn, above 32ρ + 1; 1000ρ + 32 by default. Not with a horizon.
    random_state
        Seed of the random draws; an int means `numpy.random.default_rng(random_state)`.

    Notes
    -----
    Utilities should be between 0 and 1; NaN is never queried. `update` also accepts queries that
    `query_by_utility` did not return: it charges them too, if necessary to later samples.

    Examples
    --------
    >>> manager = PacedBudgetManager(budget=0.1, horizon=50, random_state=0)
    >>> utilities = np.linspace(1.0, 0.0, 50)
    >>> len(manager.query_by_utility(utilities))
    5
    """

    _steady = False

    budget: int | float | str | None = None
    horizon: int | None = None
    burst: float | None = None
    random_state: Any = None

    def query_by_utility(self, utilities: Floats) -> Indices:
        """Return the indices of the samples to query, decided one by one, without changing the state."""
        utilities = self._validate_data(utilities)
        spending, rng = deepcopy((self.spending_, self.random_))
        return np.flatnonzero([_advance(spending, rng, utility, None) for utility in utilities])

    def update(
        self, candidates: ArrayLike, queried_indices: ArrayLike, utilities: Floats
    ) -> PacedBudgetManager:
        """Advance by these samples, some of which were queried."""
        queried = _as_mask(queried_indices, candidates, "PacedBudgetManager")
        utilities = self._validate_data(utilities)
        if len(utilities) != len(queried):
            raise invalid(
                "utilities", "PacedBudgetManager", f"{len(queried)}, one per sample", len(utilities)
            )
        for utility, paid in zip(utilities, queried, strict=True):
            _advance(self.spending_, self.random_, utility, bool(paid))
        return self

    def _validate_data(self, utilities: Floats) -> Floats:
        utilities = super()._validate_data(utilities).astype(np.float64)
        if utilities.ndim != 1 or np.isinf(utilities).any():
            raise invalid("utilities", "PacedBudgetManager", "a vector of finite numbers", repr(utilities))
        if not hasattr(self, "spending_"):
            self.random_, self.spending_ = _as_generator(self.random_state), self._rule().start()
        return utilities

    _validate_budget = _set_budget

    def _rule(self) -> Rule:
        owner, remedy = type(self).__name__, "Set its horizon."
        rows = None if self.horizon is None else as_count(self.horizon, "horizon", owner)
        return rule_from_budget(
            self.budget_, rows=rows, owner=owner, remedy=remedy, steady=self._steady, burst=self.burst
        )


class SteadyBudgetManager(PacedBudgetManager):
    """Budget manager with the rule `Steady`: a constant rate, half of the queries uniformly at random.

    Parameters
    ----------
    budget, horizon, random_state
        As in `PacedBudgetManager`; of the first n samples at most ρn + `burst` are queried.
    burst
        Largest number of queries beyond ρn, at least 1; 10 by default. Not with a horizon.

    Examples
    --------
    >>> manager = SteadyBudgetManager(budget=0.1, horizon=50, random_state=0)
    >>> len(manager.query_by_utility(np.linspace(1.0, 0.0, 50)))
    5
    """

    _steady = True


@dataclass(kw_only=True, eq=False, repr=False)
class StreamQuFUR(SingleAnnotatorStreamQueryStrategy):
    """Query strategy with utility Δ = min(1, ‖x‖² in M⁻¹), M = λI + Σ x xᵀ over the queried samples.

    x are inputs in units learned from all samples, so that features need not be scaled. The strategy needs
    neither labels nor a predictor; any predictor can be trained on its queries. The samples of a batch are
    decided one by one, so that near-duplicates within it are not queried twice.

    Parameters
    ----------
    model
        None uses the Δ of `Experts()`, without fitting an expert. Alternatives are `Refit(...)` and the class
        `qufur.Ridge`, which does not scale inputs.
    regularization
        λ > 0 of `Ridge`, whose features should be scaled. Experts accept neither this nor `intercept`.
    intercept
        Whether a constant 1 is appended to every sample, for `Ridge`.
    budget_manager
        Any budget manager. The default is `SteadyBudgetManager`, or `PacedBudgetManager` for `Ridge`, with
        the budget and random state below.
    budget
        The share of samples that may be queried, such as 0.05 or "5%"; None means 0.1.
    random_state
        Seed of the random draws of the default budget manager.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> strategy = StreamQuFUR(budget=0.05, random_state=0)
    >>> queried = strategy.query(X)
    >>> _ = strategy.update(X, queried)
    >>> len(queried), len(strategy.query(X))
    (47, 55)
    """

    model: Any = None
    regularization: float = 1.0
    intercept: bool = True
    budget_manager: BudgetManager | None = None
    budget: int | float | str | None = None
    random_state: Any = None

    def query(
        self, candidates: ArrayLike, return_utilities: bool = False
    ) -> Indices | tuple[Indices, Floats]:
        """Return the indices of the candidates to query, without changing the state.

        With `return_utilities`, also return Δ of all candidates.
        """
        X = self._start(candidates, return_utilities)
        queried, utilities = _process(*deepcopy((self.state_, self.budget_manager_)), X, None, {})
        indices = np.flatnonzero(queried)
        return (indices, utilities) if return_utilities else indices

    def update(
        self,
        candidates: ArrayLike,
        queried_indices: ArrayLike,
        budget_manager_param_dict: dict[str, Any] | None = None,
    ) -> StreamQuFUR:
        """Advance by these candidates, some of which were queried.

        Utilities for the budget manager are computed here and need not be passed.
        """
        queried = _as_mask(queried_indices, candidates, "StreamQuFUR")
        X = self._start(candidates, False)
        _process(self.state_, self.budget_manager_, X, queried, budget_manager_param_dict or {})
        return self

    _validate_budget = _set_budget

    def _start(self, candidates: ArrayLike, return_utilities: bool) -> Floats:
        is_new = not hasattr(self, "state_")
        check_type(self.budget_manager, "budget_manager", BudgetManager, type(None))
        X, _ = self._validate_data(candidates, return_utilities, reset=is_new)
        if is_new:
            default = PacedBudgetManager if self.model is Ridge else SteadyBudgetManager
            options = {"random_state": self.random_state}
            state = self._model(X.shape[1]).start()
            self.budget_manager_ = check_budget_manager(self.budget, self.budget_manager, default, options)
            self.state_ = state
        return np.ascontiguousarray(X, dtype=np.float64)

    def _model(self, dim: int) -> Model:
        if self.model is Ridge:
            return Ridge(dim, regularization=self.regularization, intercept=self.intercept)
        reject_linear_settings(self, ("regularization", "intercept"), Ridge)
        model = Experts() if self.model is None else self.model
        if not isinstance(model, EnsembleModel) or not model.tags.label_free:
            allowed = "None, Experts() or Refit(...) without classes, or the class Ridge"
            raise invalid("model", "StreamQuFUR", allowed, repr(self.model))
        return model.without_experts()


def _process(
    state: State, manager: BudgetManager, X: Floats, decided: Bools | None, options: dict[str, Any]
) -> tuple[Bools, Floats]:
    """Process samples one by one; return the queries (given, or decided by the manager if None) and Δ."""
    queried, utilities = np.zeros(len(X), dtype=bool), np.empty(len(X))
    for i in range(len(X)):
        x = X[i : i + 1]
        utility = np.array([state.predict_next(x[0], float(x[0] @ x[0]))[1]])
        query = len(manager.query_by_utility(utility)) > 0 if decided is None else decided[i]
        batch = {"candidates": x, "queried_indices": np.flatnonzero([query]), "utilities": utility}
        call_func(manager.update, **(options | batch))
        if query:  # the label is arbitrary: Δ does not depend on labels
            pending = Pending(0)
            state.query([pending], x)
            state.label([pending], np.zeros(1))
        state.advance(1)
        queried[i], utilities[i] = query, utility[0]
    return queried, utilities


def _advance(spending: Spending, rng: np.random.Generator, utility: float, paid: bool | None) -> bool:
    """Advance by one sample; decide whether to query it unless `paid` is given."""
    utilities = np.array([max(0.0, np.nan_to_num(utility))])
    offer = spending.offer(1, rng, None)
    query = bool(utilities[0] > offer.lowest_threshold[0] and not np.isnan(utility)) if paid is None else paid
    if query:
        offer.buy(0, np.inf)
    offer.close(utilities)
    return query


def _as_mask(queried_indices: ArrayLike, candidates: ArrayLike, owner: str) -> Bools:
    indices, count = np.asarray(queried_indices), len(candidates)  # type: ignore[arg-type]
    is_valid = indices.size == 0 or (indices.ndim == 1 and indices.dtype.kind in "iu")
    if not is_valid or (indices.size and not (indices.min() >= 0 and indices.max() < count)):
        allowed = f"integers from 0 to {count - 1}"
        raise IndexError(str(invalid("queried_indices", owner, allowed, repr(queried_indices))))
    mask = np.zeros(count, dtype=bool)
    mask[indices.astype(np.intp)] = True
    return mask


def _as_generator(random_state: Any) -> np.random.Generator:
    """Return an independent generator; NumPy's global random state is neither read nor changed."""
    checked = check_random_state(deepcopy(random_state))
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(checked.randint(2**31))
