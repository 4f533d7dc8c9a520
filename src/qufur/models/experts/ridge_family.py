"""Ridge regressions that differ in λ, importance weights and half-life: fitted together, predicted at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve

from qufur.arrays import Floats
from qufur.models.experts.labelled import Sample
from qufur.models.experts.member import Member, described

HUBER_STEPS = 3


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
    robust
        Whether rows far from the fit count less.
    """

    importance: float
    half_life: float
    at_random: bool
    regularization: float
    robust: bool = False


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
        self._coefficients = np.empty((0, len(self.names), len(output)))
        self._intercepts = np.tile(output, (len(self.names), 1))

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        features = self._features(Z)
        fitted = [
            _fit(group, features, targets, sample)
            for _, group in groupby(self._experts, key=lambda expert: expert[:3] + expert[4:])
        ]
        self._coefficients, self._intercepts = (np.concatenate(parts, axis=-2) for parts in zip(*fitted))

    def predict(self, X: Floats, Z: Floats) -> Floats:
        if not len(self._coefficients):
            return np.tile(self._intercepts, (len(Z), 1, 1))
        return np.asarray(np.tensordot(self._features(Z), self._coefficients, 1) + self._intercepts)
