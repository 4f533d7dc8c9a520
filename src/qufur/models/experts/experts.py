"""The model for tables: many experts, one prediction, nothing to tune."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from qufur.arrays import Floats, set_fields
from qufur.models.experts.aggregation import Aggregation, LevelledWeights
from qufur.models.experts.class_ridge import ClassRidge
from qufur.models.experts.committee import Committee
from qufur.models.experts.estimator_expert import EstimatorExpert
from qufur.models.experts.member import Member
from qufur.models.experts.panel import Panel
from qufur.models.experts.random_features import RandomFeatures
from qufur.models.experts.refit import Refit, check_estimator
from qufur.models.experts.ridge_family import RidgeExpert, RidgeFamily

LINEAR = (
    RidgeExpert(0.5, inf, False, 0.01),
    RidgeExpert(0.5, inf, False, 0.1),
    RidgeExpert(0.5, inf, False, 1.0),
    RidgeExpert(0.5, inf, False, 10.0),
    RidgeExpert(1.0, 300, False, 1.0),
    RidgeExpert(0.5, 80, False, 0.1),
    RidgeExpert(0.5, 80, False, 1.0),
    RidgeExpert(0.0, inf, True, 1.0),
    RidgeExpert(1.0, inf, False, inf),
)
WIDE = (
    RidgeExpert(0.5, inf, False, 0.01),
    RidgeExpert(0.5, inf, False, 0.1),
    RidgeExpert(0.5, 80, False, 0.1),
)
NARROW = (RidgeExpert(0.5, inf, False, 0.1),)
FEATURES = 300
DISTANCE = 2**0.5
"""How far two scaled inputs are apart, about."""
TREES = 50
MOST_COLUMNS = 100
"""Beyond it boosting takes too long, and trees look at some of the columns only."""
ESTIMATOR_PRIOR = 5.0
"""An estimator for numbers counts as much as so many ridge regressions before any label."""


@dataclass(frozen=True, eq=False)
class Experts(Committee):
    """Predict with the weighted mean of many experts, on inputs and labels as they come.

    The experts are ridge regressions that differ in λ, in how they weigh labels and in what they forget, on
    the inputs and on random features of them; tree ensembles; a constant; and one that learns from the
    labels bought at random alone. For classes: least squares and logistic regression instead. Each is judged
    by what it said of examples before their labels came; and where all together were off lately, what they
    say next is moved by it.

    Inputs are scaled inside, by all inputs so far. For numbers Δ is that of a linear model: how new an input
    is. For classes it is 1.02 less the difference of the two largest probabilities.

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
        For random features, and for estimators without a `random_state`.

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

    def panel(self, dim: int, further: int) -> Panel:
        # Which experts there are is settled at the start: all that is known of them goes on.
        quick, slow = self._for_numbers(dim, further) if self.classes is None else self._for_classes(dim)
        slow = [*slow, *(EstimatorExpert(estimator, seed=self.seed) for estimator in self.also)]
        return Panel(quick, slow, self.first_output(), dim)

    def _for_numbers(self, dim: int, further: int) -> tuple[Sequence[Member], Sequence[Member]]:
        from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

        from qufur.models.experts.residual_trees import ResidualTrees

        rng = np.random.default_rng(self.seed)
        wide, narrow = (RandomFeatures(dim, FEATURES, width * DISTANCE, rng) for width in (1.0, 0.5))
        columns = [np.random.SeedSequence(self.seed, spawn_key=(dim + place,)) for place in range(further)]
        own = [np.random.default_rng(column) for column in columns]
        wide.extend(own)
        narrow.extend(own)
        quick = [
            RidgeFamily(LINEAR, _as_they_are, "linear"),
            RidgeFamily(WIDE, wide, "random features,"),
            RidgeFamily(NARROW, narrow, "narrow random features,"),
        ]
        if dim > MOST_COLUMNS:
            trees = ExtraTreesRegressor(TREES, max_features="sqrt")
            return quick, [EstimatorExpert(trees, fewest=5, seed=self.seed)]
        boosted = HistGradientBoostingRegressor(early_stopping=False)
        return quick, [
            EstimatorExpert(ExtraTreesRegressor(TREES), fewest=5, seed=self.seed),
            EstimatorExpert(ResidualTrees(TREES), fewest=10, seed=self.seed),
            EstimatorExpert(boosted, fewest=50, seed=self.seed),
        ]

    def _for_classes(self, dim: int) -> tuple[Sequence[Member], Sequence[Member]]:
        from sklearn.dummy import DummyClassifier
        from sklearn.ensemble import ExtraTreesClassifier
        from sklearn.linear_model import LogisticRegression

        quick = [
            ClassRidge(None, inf),
            ClassRidge(1.0, inf),
            ClassRidge(0.5, inf),
            ClassRidge(0.7, 100),
            ClassRidge(0.7, inf, at_random=True),
        ]
        frequencies = EstimatorExpert(DummyClassifier(), 0.0)
        logistic = EstimatorExpert(LogisticRegression(max_iter=60, tol=1e-3), 0.0, scaled=True)
        trees = EstimatorExpert(ExtraTreesClassifier(TREES), 0.0, seed=self.seed)
        return quick, [frequencies, logistic, trees, *self._boosted_classes(dim)]

    def _boosted_classes(self, dim: int) -> Sequence[Member]:
        from sklearn.ensemble import HistGradientBoostingClassifier

        if dim * self.output_count > 10 * MOST_COLUMNS:
            return []
        two = self.output_count == 2
        boosted = HistGradientBoostingClassifier(
            max_iter=50 if two else 20,
            learning_rate=0.15 if two else 0.25,
            max_leaf_nodes=16 if two else 8,
            min_samples_leaf=10 if two else 5,
            max_features=min(1.0, 30 / dim),
            early_stopping=False,
        )
        return [EstimatorExpert(boosted, 0.0, fewest=50, seed=self.seed)]

    def prior(self, panel: Panel) -> Floats:
        each = ESTIMATOR_PRIOR if self.classes is None else 1.0
        quick = sum(len(member.names) for member in panel.quick)
        weights = np.array([1.0] * quick + [each] * len(panel.slow))
        return np.asarray(weights / weights.sum())

    def aggregation(self, panel: Panel) -> Aggregation:
        if self.classes is None:
            return LevelledWeights(self.prior(panel))
        return super().aggregation(panel)

    @classmethod
    def examples(cls, dim: int) -> Sequence[Experts]:
        from sklearn.linear_model import LinearRegression

        return [cls(dim, also=[LinearRegression()]), cls(classes=[0, 1, 2], seed=3)]


def _as_they_are(Z: Floats) -> Floats:
    return Z
