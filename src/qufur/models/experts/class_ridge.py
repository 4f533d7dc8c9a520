"""Classes by least squares on 0 and 1, whose λ and sharpness are chosen by leaving one out."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from qufur.arrays import Floats
from qufur.models.experts.labelled import Sample
from qufur.models.experts.member import Member, described

PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SHARPNESSES = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
USUAL_SHARPNESS, FEWEST = 3.0, 8
LEAST = 0.003
LANDMARKS = 250
TINY = 1e-12


class ClassRidge(Member):
    """Least squares on one column of 0 and 1 per class; probabilities are the softmax of β times the scores.

    One eigendecomposition serves every λ and its leave-one-out residuals: without row i, whose leverage is h,
    the residual is r/(1 − h). λ has the least squared ones, β the least log loss of the scores they leave.

    Parameters
    ----------
    bandwidth
        None sees the scaled inputs; a number sees a Gaussian kernel, so many times as wide as the median
        distance, through its values at some of the labelled rows (Nyström).
    half_life
        Labels count half for every so many that came since.
    at_random
        Whether it learns from the uniform sample alone.
    """

    def __init__(self, bandwidth: float | None, half_life: float, *, at_random: bool = False) -> None:
        self._half_life, self._at_random = half_life, at_random
        self._bandwidth = bandwidth
        kind = "linear" if bandwidth is None else f"kernel of width {bandwidth:g}"
        self.names = [described(kind, 0.0, half_life, at_random)]

    def rest(self, output: Floats) -> None:
        self._output: Floats | None = output

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        kept = sample.at_random if self._at_random and sample.at_random.any() else slice(None)
        Z, targets, weights = Z[kept], targets[kept], sample.weights(0.0, self._half_life)[kept]
        self._output = None
        self._landmarks = None if self._bandwidth is None else Landmarks(Z, self._bandwidth)
        self._center, self._mean, self._coefficients, left_out = leave_one_out(
            self._features(Z), targets, weights
        )
        self._sharpness = _sharpness(left_out, targets, weights)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        if self._output is not None:
            return np.tile(self._output, (len(Z), 1, 1))
        scores = (self._features(Z) - self._center) @ self._coefficients + self._mean
        return _softmax(self._sharpness * scores)[:, None]

    def _features(self, Z: Floats) -> Floats:
        return Z if self._landmarks is None else self._landmarks(Z)


class Landmarks:
    """A Gaussian kernel through its values at some rows, whitened so that products are its values."""

    def __init__(self, Z: Floats, bandwidth: float) -> None:
        few = len(Z) <= LANDMARKS
        self._rows = Z if few else Z[np.random.default_rng(0).permutation(len(Z))[:LANDMARKS]]
        self._rate = 0.0
        squares = self._squares(self._rows)
        typical = np.median(squares[np.triu_indices(len(squares), 1)]) if len(squares) > 1 else 0.0
        self._rate = 0.5 / (bandwidth**2 * (typical or 1.0))
        values, vectors = eigh(np.exp(-self._rate * squares) + 1e-8 * np.eye(len(squares)))
        self._whitening = vectors / np.sqrt(np.maximum(values, 1e-8))

    def __call__(self, Z: Floats) -> Floats:
        """Return the features of scaled inputs."""
        return np.asarray(np.exp(-self._rate * self._squares(Z)) @ self._whitening)

    def _squares(self, Z: Floats) -> Floats:
        own, theirs = (np.einsum("ij,ij->i", rows, rows) for rows in (Z, self._rows))
        return np.asarray(np.maximum(own[:, None] + theirs - 2 * Z @ self._rows.T, 0.0))


def leave_one_out(
    features: Floats, targets: Floats, weights: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return center, mean, the coefficients of the best λ, and scores that leave out their own row."""
    total = weights.sum()
    center, mean = weights @ features / total, weights @ targets / total
    root = np.sqrt(weights)[:, None]
    A, B = (features - center) * root, (targets - mean) * root
    few = len(A) < A.shape[1]
    values, vectors = eigh(A @ A.T if few else A.T @ A, check_finite=False)
    values = np.maximum(values, 0.0)
    # The columns of `basis` are orthogonal; what lies outside of them, no λ can fit.
    basis = vectors if few else A @ (vectors / np.sqrt(np.maximum(values, TINY)))
    moved = basis.T @ B
    outside, rest = 1 - (basis**2).sum(axis=1) - weights / total, B - basis @ moved
    best = np.inf, 0.0, targets
    for penalty in PENALTIES:
        left = penalty / (values + penalty)
        # 1 − h itself, not h: with more columns than rows h is near 1, and all that counts is in 1 − h.
        free = np.maximum(outside + basis**2 @ left, TINY)
        residual = (rest + basis @ (left[:, None] * moved)) / root / free[:, None]
        error = float((weights[:, None] * residual**2).sum())
        if error < best[0]:
            best = error, penalty, residual
    _, penalty, residual = best
    inverse = 1 / (values + penalty)[:, None]
    coefficients = A.T @ (vectors @ (moved * inverse)) if few else vectors @ (vectors.T @ (A.T @ B) * inverse)
    return center, mean, coefficients, targets - residual


def _sharpness(scores: Floats, targets: Floats, weights: Floats) -> float:
    """Return the β of the least log loss, near the usual one if that hardly matters."""
    if len(scores) < FEWEST:
        return USUAL_SHARPNESS
    losses = [
        -(weights * np.log((_softmax(beta * scores) * targets).sum(axis=1))).sum()
        + 0.3 * np.log(beta / USUAL_SHARPNESS) ** 2
        for beta in SHARPNESSES
    ]
    return SHARPNESSES[int(np.argmin(losses))]


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = np.maximum(powers / powers.sum(axis=-1, keepdims=True), LEAST)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))
