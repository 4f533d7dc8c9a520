"""Ridge regressions that differ in λ, importance weights and half-life: fitted together, predicted at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve

from qufur.arrays import Floats
from qufur.models.experts.labelled import Sample


class RidgeExpert(NamedTuple):
    """One ridge regression.

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


def fit(experts: Sequence[RidgeExpert], features: Floats, targets: Floats, sample: Sample) -> Floats:
    """Return the coefficients of all experts, of shape (features + 1, experts, targets), the intercepts last.

    Intercepts are free. Experts without a row have none but the mean of all targets.
    """
    count, width = features.shape
    coefficients = np.zeros((width + 1, len(experts), targets.shape[1]))
    coefficients[-1] = targets.mean(axis=0)
    place = 0
    for (importance, half_life, at_random), group in groupby(experts, key=lambda expert: expert[:3]):
        penalties = [expert.regularization for expert in group]
        weights = sample.weights(importance, half_life)
        if at_random:
            weights = np.where(sample.at_random, weights, 0.0)
        part = slice(place, place + len(penalties))
        place += len(penalties)
        if weights.any():
            coefficients[:, part] = _fit(penalties, features, targets, weights)
    return coefficients


def _fit(penalties: Sequence[float], features: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return the coefficients for each λ with one set of weights."""
    kept = weights > 0
    root = np.sqrt(weights[kept])[:, None]
    center, mean = (np.average(part[kept], axis=0, weights=weights[kept]) for part in (features, targets))
    A, B = (features[kept] - center) * root, (targets[kept] - mean) * root
    few = len(A) < A.shape[1]  # then a matrix of the rows is smaller than one of the columns
    gram = A @ A.T if few else A.T @ A
    right = B if few else A.T @ B
    found = np.zeros((features.shape[1] + 1, len(penalties), targets.shape[1]))
    for place, penalty in enumerate(penalties):
        if penalty < np.inf:
            solved = solve(gram + penalty * np.eye(len(gram)), right, assume_a="pos", check_finite=False)
            found[:-1, place] = A.T @ solved if few else solved
        found[-1, place] = mean - center @ found[:-1, place]
    return found


def predict(coefficients: Floats, features: Floats) -> Floats:
    """Return the predictions, of shape (rows, experts, targets)."""
    width, *shape = coefficients.shape
    flat = coefficients.reshape(width, -1)
    return (features @ flat[:-1] + flat[-1]).reshape(len(features), *shape)
