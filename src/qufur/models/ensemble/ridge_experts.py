"""Ridge regressions as experts, on inputs and on random features, for numbers and classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from qufur.arrays import Floats
from qufur.models.ensemble.expert import Expert, expert_name
from qufur.models.ensemble.training_set import Sample
from qufur.models.gram import blas
from qufur.models.gram.gram import pieces

PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SHARPNESSES = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
DEFAULT_SHARPNESS = 3.0
"""Grids of λ and of the softmax factor β, and the default β."""
MIN_LABELS = 8
"""Labels below which the sharpness is not tuned."""
MIN_PROBABILITY = 0.003
"""Lower bound of a class probability."""
LANDMARKS = 250
"""Rows at which the Nyström approximation evaluates the kernel, at most."""
TINY = 1e-12
"""Lower bound of divisors."""
CHUNK_ROWS = 1024
"""Rows whose features are in memory together: features may be much larger than the inputs."""
Penalties = Sequence[Sequence[float]]
Solutions = tuple[Floats, Floats]
"""Coefficients (regressions, features, targets) and intercepts (regressions, targets)."""


class RidgeConfig(NamedTuple):
    """One ridge regression with a free intercept.

    Attributes
    ----------
    importance, half_life
        κ and half-life of the label weights (p̄/p)^κ · ½^(labels since / half-life).
    at_random
        Whether it uses only uniformly sampled labels.
    regularization
        λ, for inputs with squared norms of about 1; ∞ gives the mean of the labels.
    """

    importance: float
    half_life: float
    at_random: bool
    regularization: float


class RidgeExperts(Expert):
    """Ridge regressions on the same features.

    Parameters
    ----------
    experts
        Configurations; neighbours with equal label weights are fitted together.
    features
        Function from scaled inputs to features.
    model
        Name of the model in reports.
    """

    def __init__(
        self, experts: Sequence[RidgeConfig], features: Callable[[Floats], Floats], model: str
    ) -> None:
        self._features = features
        self._groups = [
            (weighting, [expert.regularization for expert in group])
            for weighting, group in groupby(experts, key=lambda expert: expert[:3])
        ]
        self.names = [_name(expert, model) for expert in experts]

    def reset(self, output: Floats) -> None:
        self._coefficients = np.empty((0, 0))
        self._intercepts = np.tile(output, (len(self.names), 1))

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        weights = np.array([_label_weights(sample, *weighting) for weighting, _ in self._groups])
        penalties = [group for _, group in self._groups]
        coefficients, self._intercepts = solve_ridges(Z, self._features, targets, weights, penalties)
        self._coefficients = coefficients.transpose(1, 0, 2).reshape(coefficients.shape[1], -1)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        if not len(self._coefficients):
            return np.tile(self._intercepts, (len(Z), 1, 1))
        scores = self._features(Z) @ self._coefficients
        return scores.reshape(len(Z), *self._intercepts.shape) + self._intercepts


def _label_weights(sample: Sample, importance: float, half_life: float, at_random: bool) -> Floats:
    weights = sample.weights(importance, half_life)
    # the uniform sample may be empty
    return weights * sample.at_random if at_random and sample.at_random.any() else weights


def _name(expert: RidgeConfig, model: str) -> str:
    is_constant = expert.regularization == np.inf
    name = "constant" if is_constant else f"{model}, penalty {expert.regularization:g}"
    return expert_name(name, expert.importance, expert.half_life, expert.at_random)


class RandomFeatures:
    """Random Fourier features √(2/D) cos(⟨w, x⟩/bandwidth + b), whose products approximate a Gaussian kernel.

    Parameters
    ----------
    dim, count
        Number of columns, and number of features D.
    bandwidth
        Kernel width, for inputs with squared norms of about 1 and distances of about 1.4.
    rng
        Generator of w and b.
    """

    def __init__(self, dim: int, count: int, bandwidth: float, rng: np.random.Generator) -> None:
        self._bandwidth = bandwidth
        self._directions = rng.normal(size=(dim, count)) / bandwidth
        self._phases = rng.uniform(0, 2 * np.pi, count)

    def extend(self, columns: Sequence[np.random.Generator]) -> None:
        """Append columns, each with its own generator: the draws for other columns do not change."""
        new = [rng.normal(size=len(self._phases)) / self._bandwidth for rng in columns]
        self._directions = np.vstack([self._directions, *new])

    def __call__(self, X: Floats) -> Floats:
        """Return the features of each row."""
        waves = X @ self._directions
        waves += self._phases
        np.cos(waves, out=waves)
        waves *= np.sqrt(2 / len(self._phases))
        return waves


class ClassRidge(Expert):
    """Regularised least squares on one-hot targets; probabilities are the softmax of β times the scores.

    One eigendecomposition gives the leave-one-out residuals r/(1 − h) of every λ, with h the leverage of the
    row. λ minimises their squares, β the log loss of the leave-one-out scores.

    Parameters
    ----------
    bandwidth
        None for the scaled inputs; a number for a Gaussian kernel whose width is this multiple of the median
        distance, approximated from its values at up to 250 labelled rows (Nyström).
    half_life
        Labels after which the weight of a label is halved.
    at_random
        Whether it uses only uniformly sampled labels.
    """

    def __init__(self, bandwidth: float | None, half_life: float, *, at_random: bool = False) -> None:
        self._half_life, self._at_random = half_life, at_random
        self._bandwidth = bandwidth
        model = "linear" if bandwidth is None else f"kernel of width {bandwidth:g}"
        self.names = [expert_name(model, 0.0, half_life, at_random)]

    def reset(self, output: Floats) -> None:
        self._output: Floats | None = output

    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        selected = sample.at_random if self._at_random and sample.at_random.any() else slice(None)
        Z, targets, weights = Z[selected], targets[selected], sample.weights(0.0, self._half_life)[selected]
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
    """Nyström features of a Gaussian kernel: its values at up to 250 landmark rows, whitened.

    The products of such features approximate the kernel.
    """

    def __init__(self, Z: Floats, bandwidth: float) -> None:
        self._rows = Z if len(Z) <= LANDMARKS else Z[np.random.default_rng(0).permutation(len(Z))[:LANDMARKS]]
        squares = self._squares(self._rows)
        median = np.median(squares[np.triu_indices(len(squares), 1)]) if len(squares) > 1 else 0.0
        self._rate = 0.5 / (bandwidth**2 * (median or 1.0))
        values, vectors = eigh(np.exp(-self._rate * squares) + 1e-8 * np.eye(len(squares)))
        self._whitening = vectors / np.sqrt(np.maximum(values, 1e-8))

    def __call__(self, Z: Floats) -> Floats:
        """Return the features of scaled inputs."""
        return np.asarray(np.exp(-self._rate * self._squares(Z)) @ self._whitening)

    def _squares(self, Z: Floats) -> Floats:
        """Return the squared distances of rows to the landmarks."""
        norms, landmark_norms = (np.einsum("ij,ij->i", rows, rows) for rows in (Z, self._rows))
        return np.asarray(np.maximum(norms[:, None] + landmark_norms - 2 * Z @ self._rows.T, 0.0))


def leave_one_out(
    features: Floats, targets: Floats, weights: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return center, mean, coefficients of the best λ, and leave-one-out scores."""
    total = weights.sum()
    center, mean = weights @ features / total, weights @ targets / total
    root = np.sqrt(weights)[:, None]
    A, B = (features - center) * root, (targets - mean) * root
    is_wide = len(A) < A.shape[1]
    values, vectors = eigh(A @ A.T if is_wide else A.T @ A, check_finite=False)
    values = np.maximum(values, 0.0)
    # The columns of `basis` are orthogonal; no λ fits the component outside their span.
    basis = vectors if is_wide else A @ (vectors / np.sqrt(np.maximum(values, TINY)))
    projected = basis.T @ B
    outside, unexplained = 1 - (basis**2).sum(axis=1) - weights / total, B - basis @ projected
    best = np.inf, 0.0, targets
    for penalty in PENALTIES:
        shrinkage = penalty / (values + penalty)
        # 1 − h directly: with more columns than rows h is near 1, and the subtraction would lose all digits.
        one_minus_h = np.maximum(outside + basis**2 @ shrinkage, TINY)
        residual = (unexplained + basis @ (shrinkage[:, None] * projected)) / root / one_minus_h[:, None]
        error = float((weights[:, None] * residual**2).sum())
        if error < best[0]:
            best = error, penalty, residual
    _, penalty, residual = best
    inverse = 1 / (values + penalty)[:, None]
    coefficients = (
        A.T @ (vectors @ (projected * inverse)) if is_wide else vectors @ (vectors.T @ (A.T @ B) * inverse)
    )
    return center, mean, coefficients, targets - residual


def _sharpness(scores: Floats, targets: Floats, weights: Floats) -> float:
    """Return the β of lowest log loss, with a weak prior at the default."""
    if len(scores) < MIN_LABELS:
        return DEFAULT_SHARPNESS
    losses = [
        -(weights * np.log((_softmax(beta * scores) * targets).sum(axis=1))).sum()
        + 0.3 * np.log(beta / DEFAULT_SHARPNESS) ** 2
        for beta in SHARPNESSES
    ]
    return SHARPNESSES[int(np.argmin(losses))]


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = np.maximum(powers / powers.sum(axis=-1, keepdims=True), MIN_PROBABILITY)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def solve_ridges(
    Z: Floats, features: Callable[[Floats], Floats], targets: Floats, weights: Floats, penalties: Penalties
) -> Solutions:
    """Return weighted ridge regressions with free intercepts, one for each row of weights and each of its λ.

    λ is not scaled by the weights, so forgetting does not change it. λ = ∞ gives the weighted mean.

    Parameters
    ----------
    Z, features
        Inputs, and the function that computes the features of a chunk of them.
    targets
        Targets, (rows, targets).
    weights
        Weights, (groups, rows); each group needs a positive one.
    penalties
        Values of λ for each group.

    Examples
    --------
    >>> Z, targets, same = np.eye(2), np.array([[1.0], [3.0]]), np.ones((1, 2))
    >>> coefficients, intercepts = solve_ridges(Z, np.asarray, targets, same, [[1.0, np.inf]])
    >>> coefficients[:, :, 0].round(3), intercepts[:, 0].round(3)
    (array([[-0.5,  0.5],
           [ 0. ,  0. ]]), array([2., 2.]))
    """
    middle = targets.mean(axis=0)  # centering preserves precision for labels far from 0
    if len(Z) < features(Z[:1]).shape[1]:  # the Gram matrix of the rows is smaller
        coefficients, intercepts = _by_rows(features(Z), targets - middle, weights, penalties)
    else:
        coefficients, intercepts = _by_columns(Z, features, targets - middle, weights, penalties)
    return coefficients, intercepts + middle


def _by_rows(F: Floats, targets: Floats, weights: Floats, penalties: Penalties) -> Solutions:
    """Solve in the dual. All groups share the products of rows, except for their centers."""
    shares, roots = weights / weights.sum(axis=1, keepdims=True), np.sqrt(weights)[:, :, None]
    products, means = F @ F.T, shares @ targets
    with_center = shares @ products  # ⟨row, center⟩
    center_norms = (with_center * shares).sum(axis=1)
    grams = products - (with_center - center_norms[:, None])[:, None] - with_center[:, :, None]
    grams *= roots * roots.transpose(0, 2, 1)
    rights = (targets - means[:, None]) * roots
    alphas = np.array(
        [
            _solve(gram.T, right, penalty) * root
            for gram, right, root, group in zip(grams, rights, roots, penalties, strict=True)
            for penalty in group
        ]
    )
    group_of, centers = _groups(penalties), shares @ F
    coefficients = F.T @ alphas - centers[group_of, :, None] * alphas.sum(axis=1)[:, None]
    return coefficients, _intercepts(means[group_of], centers[group_of], coefficients)


def _by_columns(
    Z: Floats, features: Callable[[Floats], Floats], targets: Floats, weights: Floats, penalties: Penalties
) -> Solutions:
    """Solve the normal equations, summed chunk by chunk."""
    sums: list[Floats] = []
    for part in pieces(len(Z), size=CHUNK_ROWS):
        F = features(Z[part])
        rows = np.column_stack([np.ones(len(F)), F, targets[part]])
        sums = sums or [np.zeros((rows.shape[1], rows.shape[1]), order="F") for _ in penalties]
        for total, weight, group in zip(sums, weights[:, part], penalties, strict=True):
            if min(group) < np.inf:
                blas.dsyrk(1.0, (rows * np.sqrt(weight)[:, None]).T, beta=1.0, c=total, overwrite_c=1)
            else:  # λ = ∞ needs only the means
                total[0] += weight @ rows
    end = len(sums[0]) - targets.shape[1]
    solved = []
    means = np.array([total[0, 1:] / total[0, 0] for total in sums])
    for total, mean, group in zip(sums, means, penalties, strict=True):
        total[1:end, 1:] -= np.multiply.outer(total[0, 1:end], mean)
        solved += [_solve(total[1:end, 1:end], total[1:end, end:], penalty) for penalty in group]
    coefficients, means = np.array(solved), means[_groups(penalties)]
    return coefficients, _intercepts(means[:, end - 1 :], means[:, : end - 1], coefficients)


def _solve(gram: Floats, right: Floats, penalty: float) -> Floats:
    """Return the solution for one λ, from the upper triangle of the matrix."""
    if penalty == np.inf:
        return np.zeros(right.shape)
    matrix, solved = gram.copy(order="F"), right.copy(order="F")
    matrix.ravel("K")[:: len(matrix) + 1] += penalty  # a view
    blas.dposv(matrix, solved, overwrite_a=1, overwrite_b=1)  # in place: twice as fast
    return solved


def _groups(penalties: Penalties) -> list[int]:
    return [group for group, values in enumerate(penalties) for _ in values]


def _intercepts(means: Floats, centers: Floats, coefficients: Floats) -> Floats:
    return np.asarray(means - np.einsum("ed,edt->et", centers, coefficients))
