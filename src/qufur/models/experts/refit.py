"""Any scikit-learn estimator as a model: fitted anew as labels come, with the Δ of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models.experts.committee import Committee
from qufur.models.experts.estimator_expert import EstimatorExpert
from qufur.models.experts.panel import Panel


@dataclass(frozen=True, eq=False)
class Refit(Committee):
    """A scikit-learn regressor or classifier that is fitted anew now and then.

    It is fitted when there are 15 % more labels, or the stream is an eighth longer and there are new ones.
    Inputs reach it as they come; put what it needs before it in a pipeline. The Δ that labels are bought by
    is that of `Experts`: for numbers what is new is worth a label, whatever the estimator is; for classes,
    what it is in doubt about. The other parameters are those of `Experts`.

    Parameters
    ----------
    estimator
        It is cloned. Where it takes a `random_state` and has none, that is the seed; where it takes a
        `sample_weight`, a label bought with probability p has √(p̄/p), at most 20, p̄ the mean of p so far.

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

    def panel(self, dim: int, further: int) -> Panel:
        return Panel((), [EstimatorExpert(self.estimator, seed=self.seed)], self.first_output(), dim)

    def prior(self, panel: Panel) -> Floats:
        return np.ones(1)

    @classmethod
    def examples(cls, dim: int) -> Sequence[Refit]:
        from sklearn.linear_model import Ridge as SklearnRidge
        from sklearn.tree import DecisionTreeClassifier

        classifier = DecisionTreeClassifier(max_depth=3)
        return [cls(SklearnRidge(), dim=dim), cls(classifier, classes=[0, 1, 2], seed=3)]


def check_estimator(estimator: Any, owner: str, *, classifies: bool) -> None:
    """Refuse what is not an estimator of the right kind."""
    from sklearn.base import is_classifier, is_regressor

    fits = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    if not fits or not (is_classifier(estimator) if classifies else is_regressor(estimator)):
        wanted = "a classifier, as there are classes", "a regressor; classes=[...] is for classes"
        received = getattr(estimator, "__name__", type(estimator).__name__)
        raise invalid("estimator", owner, f"a scikit-learn estimator, {wanted[not classifies]}", received)
