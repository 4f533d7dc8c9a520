"""The experts: ridge regressions on a few feature maps, and estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Floats, check_shapes
from qufur.models.experts import ridge_family
from qufur.models.experts.estimator_expert import EstimatorExpert
from qufur.models.experts.labelled import Sample
from qufur.models.experts.random_features import RandomFeatures
from qufur.models.experts.ridge_family import RidgeExpert
from qufur.threads import one_thread


class Family(NamedTuple):
    """Ridge experts on the same features: the inputs, or random features of this bandwidth."""

    experts: Sequence[RidgeExpert]
    bandwidth: float | None = None
    features: int = 0


class Panel:
    """All experts of a committee, and what they say.

    Attributes
    ----------
    names
        Of the experts, in the order of their predictions.
    """

    def __init__(
        self,
        families: Sequence[Family],
        estimators: Sequence[EstimatorExpert],
        *,
        dim: int,
        start: Floats,
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        self._families = families
        self._maps = [_feature_map(family, dim, rng) for family in families]
        self.estimators = estimators
        self._start = start
        self.coefficients = [
            _constant(dim if family.bandwidth is None else family.features, len(family.experts), start)
            for family in families
        ]
        self.names = [
            *(_name(expert, family) for family in families for expert in family.experts),
            *(estimator.name for estimator in estimators),
        ]
        for estimator in estimators:
            estimator.rest(start)

    def fit_ridges(self, features: Floats, targets: Floats, sample: Sample) -> None:
        """Fit all ridge regressions to labelled rows, scaled."""
        if not len(targets):
            return
        with one_thread():
            self.coefficients = [
                ridge_family.fit(family.experts, feature_map(features), targets, sample)
                for family, feature_map in zip(self._families, self._maps, strict=True)
            ]

    def fit_estimators(self, sample: Sample, targets: Floats) -> None:
        """Fit all estimators to labelled rows."""
        for estimator in self.estimators:
            estimator.fit(sample, targets)

    def predict(self, X: Floats, features: Floats) -> Floats:
        """Return what each expert says about each row, given raw and scaled: (rows, experts, targets)."""
        said = [
            ridge_family.predict(coefficients, feature_map(features))
            for coefficients, feature_map in zip(self.coefficients, self._maps, strict=True)
        ]
        said += [estimator.predict(X)[:, None] for estimator in self.estimators]
        return np.concatenate(said, axis=1)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the coefficients; estimators are fitted again instead."""
        return {str(place): array for place, array in enumerate(self.coefficients)}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned."""
        for place, own in enumerate(self.coefficients):
            check_shapes(arrays, {str(place): own.shape})
            self.coefficients[place] = arrays[str(place)]


def _feature_map(family: Family, dim: int, rng: np.random.Generator) -> Any:
    if family.bandwidth is None:
        return _as_they_are
    return RandomFeatures(dim, family.features, family.bandwidth, rng)


def _as_they_are(X: Floats) -> Floats:
    return X


def _constant(features: int, experts: int, start: Floats) -> Floats:
    coefficients = np.zeros((features + 1, experts, len(start)))
    coefficients[-1] = start
    return coefficients


def _name(expert: RidgeExpert, family: Family) -> str:
    if expert.regularization == np.inf:
        kind = "constant"
    else:
        kind = f"{'linear' if family.bandwidth is None else 'curved'} λ={expert.regularization:g}"
    parts = [kind]
    if family.bandwidth is not None:
        parts.append(f"bandwidth {family.bandwidth:g}")
    if expert.importance:
        parts.append(f"κ={expert.importance:g}")
    if expert.half_life < np.inf:
        parts.append(f"half-life {expert.half_life:g} labels")
    if expert.at_random:
        parts.append("labels at random")
    return ", ".join(parts)
