"""Ridge regressions that differ in λ, importance weights and half-life: fitted and predicted together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats
from qufur.models.experts.labelled import Sample
from qufur.models.experts.member import Member, described
from qufur.models.experts.weighted_ridge import solve_ridges


class RidgeExpert(NamedTuple):
    """One ridge regression with a free intercept.

    Attributes
    ----------
    importance, half_life
        How labels are weighted: (p̄/p)^κ, and half of it for every so many labels that came since.
    at_random
        Whether it learns from the uniform sample alone.
    regularization
        λ, for inputs whose squares sum up to about 1; ∞ is the mean of the labels.
    """

    importance: float
    half_life: float
    at_random: bool
    regularization: float


class RidgeFamily(Member):
    """Ridge regressions on the same features.

    Parameters
    ----------
    experts
        In groups of equal weights, which are fitted together.
    features
        What they see of scaled inputs.
    kind
        What they are called in reports.
    """

    def __init__(
        self, experts: Sequence[RidgeExpert], features: Callable[[Floats], Floats], kind: str
    ) -> None:
        self._features = features
        self._groups = [
            (weighting, [expert.regularization for expert in group])
            for weighting, group in groupby(experts, key=lambda expert: expert[:3])
        ]
        self.names = [_name(expert, kind) for expert in experts]

    def rest(self, output: Floats) -> None:
        self._coefficients = np.empty((0, 0))
        self._intercepts = np.tile(output, (len(self.names), 1))

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        penalties = [own for _, own in self._groups]
        solved = solve_ridges(Z, self._features, targets, self._weights(sample), penalties)
        coefficients, self._intercepts = solved
        self._coefficients = coefficients.transpose(1, 0, 2).reshape(coefficients.shape[1], -1)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        if not len(self._coefficients):
            return np.tile(self._intercepts, (len(Z), 1, 1))
        scores = self._features(Z) @ self._coefficients
        return scores.reshape(len(Z), *self._intercepts.shape) + self._intercepts

    def _weights(self, sample: Sample) -> Floats:
        importances, decay = cache(sample.importances), cache(sample.decay)
        weights = np.ones((len(self._groups), len(sample.y)))
        for place, ((importance, half_life, at_random), _) in enumerate(self._groups):
            if importance:
                weights[place] *= importances(importance)
            if half_life < np.inf:
                weights[place] *= decay(half_life)
            if at_random and sample.at_random.any():  # of the uniform sample there may be none yet
                weights[place] *= sample.at_random
        return weights


def solve_ridge(
    features: Floats, targets: Floats, weights: Floats, penalties: Sequence[float]
) -> tuple[Floats, Floats]:
    """Return weighted ridge regressions with free intercepts, one for each λ.

    >>> coefficients, intercepts = solve_ridge(np.eye(2), np.array([[1.0], [3.0]]), np.ones(2), [1.0, np.inf])
    >>> coefficients[:, :, 0].T.round(3), intercepts[:, 0].round(3)
    (array([[-0.5,  0.5],
           [ 0. ,  0. ]]), array([2., 2.]))
    """
    coefficients, intercepts = solve_ridges(features, np.asarray, targets, weights[None], [penalties])
    return coefficients.transpose(1, 0, 2), intercepts


def _name(expert: RidgeExpert, kind: str) -> str:
    constant = expert.regularization == np.inf
    what = "constant" if constant else f"{kind} λ={expert.regularization:g}"
    return described(what, expert.importance, expert.half_life, expert.at_random)
