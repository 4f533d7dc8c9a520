"""`Refit`, a model of one scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models.ensemble.expert import EstimatorExpert
from qufur.models.ensemble.fits import ExpertSet
from qufur.models.ensemble.model import EnsembleModel


@dataclass(frozen=True, eq=False)
class Refit(EnsembleModel):
    """A scikit-learn regressor or classifier that is fitted again as labels arrive.

    A fit is due after 15 % more labels, at least 3, or if the stream is an eighth longer and has 5 % more
    labels. The estimator gets unscaled inputs; use a pipeline for preprocessing. Δ is that of `Experts`: for
    numbers the leverage of the input, independent of the estimator; for classes the estimator's margin
    uncertainty. The other parameters are those of `Experts`.

    Parameters
    ----------
    estimator
        It is cloned. An estimator whose `random_state` is None gets the seed. An estimator that takes
        `sample_weight` gets √(p̄/p), at most 20, for a label bought with probability p; p̄ is the mean of p
        so far.

    Raises
    ------
    InvalidError
        If the estimator is no scikit-learn regressor (classifier, with `classes`).

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from qufur import Learner, Uniform
    >>> learner = Learner(Refit(DecisionTreeRegressor()), Uniform(0.5))
    >>> learner.learn([[0.0], [1.0]], [5.0, 7.0])
    >>> learner.predict([[0.2], [0.9]])
    array([5., 7.])
    """

    estimator: Any
    dim: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_estimator(self.estimator, "Refit", classifies=self.classes is not None)

    def build_experts(self, dim: int, further: int) -> ExpertSet:
        return ExpertSet((), [EstimatorExpert(self.estimator, seed=self.seed)], self.prior_output(), dim)

    def prior(self, panel: ExpertSet) -> Floats:
        return np.ones(1)

    @classmethod
    def examples(cls, dim: int) -> Sequence[Refit]:
        from sklearn.linear_model import Ridge as SklearnRidge
        from sklearn.tree import DecisionTreeClassifier

        classifier = DecisionTreeClassifier(max_depth=3)
        return [cls(SklearnRidge(), dim=dim), cls(classifier, classes=[0, 1, 2], seed=3)]


def check_estimator(estimator: Any, owner: str, *, classifies: bool) -> None:
    """Raise `InvalidError` unless the estimator is a regressor, or a classifier if `classifies`."""
    from sklearn.base import is_classifier, is_regressor

    is_estimator = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    if not is_estimator or not (is_classifier(estimator) if classifies else is_regressor(estimator)):
        required = "a regressor; classes=[...] is for classes"
        if classifies:
            required = "a classifier, as there are classes"
        received = getattr(estimator, "__name__", type(estimator).__name__)
        raise invalid("estimator", owner, f"a scikit-learn estimator, {required}", received)
