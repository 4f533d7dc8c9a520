"""Ridge regressions that differ in λ, importance weights and half-life: fitted and predicted together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve

from qufur.arrays import Floats
from qufur.models.experts.labelled import Sample
from qufur.models.experts.member import Member, described


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
        self._experts = experts
        self._features = features
        self.names = [_name(expert, kind) for expert in experts]

    def rest(self, output: Floats) -> None:
        self._coefficients = np.empty((0, 0))
        self._intercepts = np.tile(output, (len(self.names), 1))

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        features = self._features(Z)
        fitted = [
            _fit(group, features, targets, sample)
            for _, group in groupby(self._experts, key=lambda expert: expert[:3])
        ]
        coefficients, intercepts = zip(*fitted, strict=True)
        self._intercepts = np.concatenate(intercepts)
        self._coefficients = np.concatenate(coefficients, axis=1).reshape(len(coefficients[0]), -1)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        if not len(self._coefficients):
            return np.tile(self._intercepts, (len(Z), 1, 1))
        scores = self._features(Z) @ self._coefficients
        return scores.reshape(len(Z), *self._intercepts.shape) + self._intercepts


def _fit(
    group: Iterable[RidgeExpert], features: Floats, targets: Floats, sample: Sample
) -> tuple[Floats, Floats]:
    """Fit experts of equal weights; return coefficients (features, experts, targets) and intercepts."""
    experts = list(group)
    weights = sample.weights(experts[0].importance, experts[0].half_life)
    if experts[0].at_random:
        weights = np.where(sample.at_random, weights, 0.0)
    if not weights.any():  # of the uniform sample there is none yet
        weights = np.ones(len(targets))
    penalties = [expert.regularization for expert in experts]
    return solve_ridge(features, targets, weights, penalties)


def solve_ridge(
    features: Floats, targets: Floats, weights: Floats, penalties: Sequence[float]
) -> tuple[Floats, Floats]:
    """Return weighted ridge regressions with free intercepts, one for each λ.

    λ is outside the weights: labels that are forgotten leave it alone.

    >>> coefficients, intercepts = solve_ridge(np.eye(2), np.array([[1.0], [3.0]]), np.ones(2), [1.0, np.inf])
    >>> coefficients[:, :, 0].T.round(3), intercepts[:, 0].round(3)
    (array([[-0.5,  0.5],
           [ 0. ,  0. ]]), array([2., 2.]))
    """
    kept = weights > 0
    w = weights[kept]
    center, mean = (np.average(part[kept], axis=0, weights=w) for part in (features, targets))
    root = np.sqrt(w)[:, None]
    A, B = (features[kept] - center) * root, (targets[kept] - mean) * root
    few = len(A) < A.shape[1]  # then the matrix of the rows is smaller than that of the columns
    gram, right = (A @ A.T, B) if few else (A.T @ A, A.T @ B)
    coefficients = np.zeros((A.shape[1], len(penalties), targets.shape[1]))
    for place, penalty in enumerate(penalties):
        if penalty < np.inf:
            solved = solve(gram + penalty * np.eye(len(gram)), right, assume_a="pos", check_finite=False)
            coefficients[:, place] = A.T @ solved if few else solved
    return coefficients, mean - np.tensordot(center, coefficients, 1)


def _name(expert: RidgeExpert, kind: str) -> str:
    constant = expert.regularization == np.inf
    what = "constant" if constant else f"{kind} λ={expert.regularization:g}"
    return described(what, expert.importance, expert.half_life, expert.at_random)
