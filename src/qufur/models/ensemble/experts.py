"""`Experts`, an ensemble with default experts for tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from qufur.arrays import Floats, set_fields
from qufur.models.ensemble.aggregation import Aggregation, BiasCorrectedWeights
from qufur.models.ensemble.expert import EstimatorExpert, Expert
from qufur.models.ensemble.fits import ExpertSet
from qufur.models.ensemble.model import EnsembleModel
from qufur.models.ensemble.refit import Refit, check_estimator
from qufur.models.ensemble.ridge_experts import ClassRidge, RandomFeatures, RidgeConfig, RidgeExperts

LINEAR = (
    *(RidgeConfig(0.5, inf, False, regularization) for regularization in (0.01, 0.1, 1.0, 10.0)),
    RidgeConfig(1.0, 300, False, 1.0),
    RidgeConfig(0.5, 80, False, 0.1),
    RidgeConfig(0.5, 80, False, 1.0),
    RidgeConfig(0.0, inf, True, 1.0),
    RidgeConfig(1.0, inf, False, inf),
)
WIDE = (
    RidgeConfig(0.5, inf, False, 0.01),
    RidgeConfig(0.5, inf, False, 0.1),
    RidgeConfig(0.5, 80, False, 0.1),
)
NARROW = (RidgeConfig(0.5, inf, False, 0.1),)
FEATURES = 300
"""Random features of each kernel expert."""
DISTANCE = 2**0.5
"""Typical distance of two scaled inputs."""
TREES = 50
"""Trees of each forest."""
MAX_COLUMNS = 100
"""Number of columns above which boosting is omitted, since it takes too long, and trees try √dim columns per
split. With classes, boosting is omitted if columns times classes exceed ten times this number."""
ESTIMATOR_PRIOR = 5.0
"""Prior weight of an estimator for numbers, relative to one ridge regression."""


@dataclass(frozen=True, eq=False)
class Experts(EnsembleModel):
    """Ensemble of many experts, for unscaled inputs and labels and without parameters to tune.

    The experts are ridge regressions with different λ, label weights and half-lives, on the inputs and on
    random features; tree ensembles; a constant; and one ridge regression that uses only the uniformly sampled
    labels. For classes, regularised least squares, kernel least squares and logistic regression replace the
    ridge regressions. The weight of an expert depends on its out-of-sample predictions. For numbers, recent
    errors of the ensemble correct the bias of the next predictions.

    The model scales inputs with mean and deviation of all inputs so far. For numbers, Δ is that of a linear
    model on the scaled inputs, based on the leverage xᵀM⁻¹x. For classes, Δ is 1.02 minus the difference of
    the two largest probabilities.

    Parameters
    ----------
    dim
        Number of input columns; None takes it from the first input.
    label_range
        Lowest and highest label, to which predictions are clipped; None learns the range from the labels.
    classes
        For classification: all classes, strings or numbers. The prediction is then the most probable class.
    also
        Additional experts: scikit-learn estimators, or `Refit`s of them.
    seed
        For random features and for estimators whose `random_state` is None.

    Raises
    ------
    InvalidError
        If a parameter is out of range, or `also` contains anything but regressors (classifiers, with
        `classes`).

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

    def build_experts(self, dim: int, further: int) -> ExpertSet:
        # The list depends on the columns at the start alone, so weights and losses outlast added columns.
        if self.classes is None:
            quick, slow = self._regressors(dim, further)
        else:
            quick, slow = self._classifiers(dim)
        slow = [*slow, *(EstimatorExpert(estimator, seed=self.seed) for estimator in self.also)]
        return ExpertSet(quick, slow, self.prior_output(), dim)

    def _regressors(self, dim: int, added_columns: int) -> tuple[Sequence[Expert], Sequence[Expert]]:
        from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

        from qufur.models.ensemble.residual_trees import ResidualTrees

        rng = np.random.default_rng(self.seed)
        wide, narrow = (RandomFeatures(dim, FEATURES, width * DISTANCE, rng) for width in (1.0, 0.5))
        columns = range(dim, dim + added_columns)
        seeds = [np.random.SeedSequence(self.seed, spawn_key=(column,)) for column in columns]
        generators = [np.random.default_rng(seed) for seed in seeds]
        wide.extend(generators)
        narrow.extend(generators)
        quick = [
            RidgeExperts(LINEAR, np.asarray, "linear"),
            RidgeExperts(WIDE, wide, "random features"),
            RidgeExperts(NARROW, narrow, "narrow random features"),
        ]
        if dim > MAX_COLUMNS:
            trees = ExtraTreesRegressor(TREES, max_features="sqrt")
            return quick, [EstimatorExpert(trees, min_labels=5, seed=self.seed)]
        boosted = HistGradientBoostingRegressor(early_stopping=False)
        return quick, [
            EstimatorExpert(ExtraTreesRegressor(TREES), min_labels=5, seed=self.seed),
            EstimatorExpert(ResidualTrees(TREES), min_labels=10, seed=self.seed),
            EstimatorExpert(boosted, min_labels=50, seed=self.seed),
        ]

    def _classifiers(self, dim: int) -> tuple[Sequence[Expert], Sequence[Expert]]:
        from sklearn.dummy import DummyClassifier
        from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
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
        slow = [frequencies, logistic, trees]
        if dim * self.output_count > 10 * MAX_COLUMNS:
            return quick, slow
        binary = self.output_count == 2
        boosted = HistGradientBoostingClassifier(
            max_iter=50 if binary else 20,
            learning_rate=0.15 if binary else 0.25,
            max_leaf_nodes=16 if binary else 8,
            min_samples_leaf=10 if binary else 5,
            max_features=min(1.0, 30 / dim),
            early_stopping=False,
        )
        return quick, [*slow, EstimatorExpert(boosted, 0.0, min_labels=50, seed=self.seed)]

    def prior(self, panel: ExpertSet) -> Floats:
        slow_weight = ESTIMATOR_PRIOR if self.classes is None else 1.0
        weights = np.array([1.0] * panel.quick_count + [slow_weight] * len(panel.slow))
        return np.asarray(weights / weights.sum())

    def aggregation(self, panel: ExpertSet) -> Aggregation:
        if self.classes is None:
            return BiasCorrectedWeights(self.prior(panel))
        return super().aggregation(panel)

    @classmethod
    def examples(cls, dim: int) -> Sequence[Experts]:
        from sklearn.linear_model import LinearRegression

        return [cls(dim, also=[LinearRegression()]), cls(classes=[0, 1, 2], seed=3)]
