"""The model for tables: many experts, one prediction, nothing to tune."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import Any

import numpy as np

from qufur.arrays import Floats, set_fields
from qufur.models.experts.committee import Committee
from qufur.models.experts.estimator_expert import EstimatorExpert
from qufur.models.experts.panel import Family, Panel
from qufur.models.experts.refit import Refit, check_estimator
from qufur.models.experts.ridge_family import RidgeExpert


def _ridges(penalties: Sequence[float], weightings: Sequence[tuple[float, float]]) -> list[RidgeExpert]:
    return [RidgeExpert(*how, False, penalty) for how, penalty in product(weightings, penalties)]


LINEAR = Family(
    [
        *_ridges([0.01, 0.1, 1.0], [(0.0, inf), (1.0, inf), (0.5, 300.0), (0.5, 80.0)]),
        RidgeExpert(1.0, inf, False, inf),
        RidgeExpert(0.0, inf, True, 0.1),
        RidgeExpert(0.0, inf, True, 1.0),
    ]
)
CURVED = Family(_ridges([0.01, 0.1], [(0.5, inf), (0.5, 300.0)]), bandwidth=0.7, features=300)
FAMILIES = (LINEAR, CURVED)
ESTIMATOR_PRIOR = 5.0
"""An estimator counts as much as so many ridge regressions before any label."""


@dataclass(frozen=True)
class Experts(Committee):
    """Predict with the weighted mean of many experts, on inputs and labels as they come.

    Parameters
    ----------
    dim
        Number of input columns; None lets the first input decide.
    label_range
        The lowest and the highest label, to which predictions are clipped; None learns it from the labels.
    classes
        For classification: all classes, strings or numbers. The prediction is then the most probable class.
    also
        Further experts: scikit-learn estimators, or `Refit`s of them.
    seed
        For random features and for estimators without a `random_state`.

    Examples
    --------
    >>> from qufur import Learner, Uniform
    >>> learner = Learner(Experts(), Uniform(0.5))
    >>> learner.learn([[1000.0], [2000.0], [3000.0]], [10.0, 20.0, 30.0])
    >>> bool(20 < learner.predict([[2500.0]])[0] < 27)
    True
    """

    dim: int | None = None
    also: Sequence[Any] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        also = tuple(expert.estimator if isinstance(expert, Refit) else expert for expert in self.also)
        for estimator in also:
            check_estimator(estimator, "Experts", classifies=self.classes is not None)
        set_fields(self, also=also)

    def panel(self, dim: int) -> Panel:
        experts = [EstimatorExpert(*expert, self.seed) for expert in self._estimators()]
        return Panel(FAMILIES, experts, dim=dim, start=self.first_output(), seed=self.seed)

    def prior(self) -> Floats:
        ridges = sum(len(family.experts) for family in FAMILIES)
        weights = np.array([1.0] * ridges + [ESTIMATOR_PRIOR] * len(self._estimators()))
        return weights / weights.sum()

    def _estimators(self) -> list[tuple[Any, float, int]]:
        """Return each estimator, its κ, and the fewest labels to fit it to."""
        from sklearn import ensemble

        kind = "Regressor" if self.classes is None else "Classifier"
        trees = getattr(ensemble, f"ExtraTrees{kind}")(n_estimators=60)
        boosted = getattr(ensemble, f"HistGradientBoosting{kind}")(max_iter=100, early_stopping=False)
        return [(trees, 0.5, 20), (boosted, 0.5, 50), *((estimator, 0.5, 1) for estimator in self.also)]

    @classmethod
    def examples(cls, dim: int) -> Sequence[Experts]:
        return [cls(dim), cls(label_range=(-2, 2), seed=3), cls(classes=[0, 1, 2])]
