"""Newton steps for softmax regression by conjugate gradients.

Both functions solve H s = −g for H V = (P∘U − P Σ_k(P∘U)) X / n + λV with U = V Xᵀ, where V and s are
classes × dim and P is classes × n, until what is left of g is at most `enough`.
"""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.models.gram import blas

LARGEST = 1024  # of a Hessian that is made, which then takes 8 MB


class NearbyHessian:
    """The Hessian H of an earlier step, or none yet: near enough to point conjugate gradients the right way.

    Making H takes about as long as classes · dim / 8 products with it. So a step makes it after as many
    (`patience`) that did not suffice, as where columns differ in scale, and never loses more than it might
    have won. The steps after it then take a few products each.
    """

    def __init__(self, classes: int, dim: int) -> None:
        size = classes * dim
        self.patience = max(4, size // 8) if size <= LARGEST else None
        self._factor: Floats | None = None

    def make(self, X: Floats, P: Floats, penalty: float) -> None:
        """Take the H of these probabilities; where rounding leaves none, go on without."""
        factor, failed = blas.dpotrf(_hessian(X, P, penalty), overwrite_a=1)
        self._factor = None if failed else factor

    def solve(self, rest: Floats) -> Floats:
        """Return H⁻¹ times what is left of a gradient, or that itself."""
        if self._factor is None:
            return rest
        solution, _ = blas.dpotrs(self._factor, rest.ravel())
        return np.asarray(solution).reshape(rest.shape)


def step_through_examples(
    X: Floats, P: Floats, gradient: Floats, penalty: float, enough: float, nearby: NearbyHessian
) -> Floats:
    """Return s at two products with X per iteration; `nearby` is there to be used again in the next step."""
    step, rest = np.zeros_like(gradient), -gradient
    direction, before = np.zeros_like(gradient), 1.0
    for iteration in range(2 * rest.size):
        if iteration == nearby.patience:
            nearby.make(X, P, penalty)
            direction *= 0.0
        pointed = nearby.solve(rest)
        square = float(np.vdot(rest, pointed))
        direction *= square / before
        direction += pointed
        product = _curved(direction @ X.T, P) @ X
        product += penalty * direction
        length = square / float(np.vdot(direction, product))
        step += length * direction
        product *= length
        rest -= product
        before = square
        if float(np.vdot(rest, rest)) <= enough**2:
            break
    return step


def step_through_gram(
    X: Floats, gram: Floats, P: Floats, gradient: Floats, penalty: float, enough: float
) -> Floats:
    """Return s at one product with X Xᵀ per iteration: the cheaper one while n < 2d.

    All vectors of the iteration are of the form γg + BX. They are kept as γ, as B, and as their scores
    γS + B X Xᵀ on the examples, S = g Xᵀ; lengths follow from these. Differences of such numbers have half
    the digits, so `enough` should not be below a millionth of g.
    """
    S, square = gradient @ X.T, float(np.vdot(gradient, gradient))
    length_of_g = square
    rest, direction, step = -1.0, -1.0, 0.0
    B_rest, B_direction, B_step = np.zeros_like(S), np.zeros_like(S), np.zeros_like(S)
    scores = -S
    for _ in range(2 * gradient.size):
        product = _curved(scores, P)
        bend = float(np.vdot(scores, product))
        own = direction * (direction * length_of_g + np.vdot(S, B_direction)) + np.vdot(scores, B_direction)
        product += penalty * B_direction
        length = square / (bend + penalty * float(own))
        step += length * direction
        B_step += length * B_direction
        rest -= length * penalty * direction
        B_rest -= length * product
        rest_scores = B_rest @ gram
        rest_scores += rest * S
        before = square
        square = float(rest * (rest * length_of_g + np.vdot(S, B_rest)) + np.vdot(rest_scores, B_rest))
        if square <= enough**2:
            break
        ratio = square / before
        direction = ratio * direction + rest
        B_direction *= ratio
        B_direction += B_rest
        scores *= ratio
        scores += rest_scores
    return step * gradient + B_step @ X


def _curved(U: Floats, P: Floats) -> Floats:
    R = U * P
    R -= P * R.sum(axis=0)
    R /= P.shape[1]
    return R


def _hessian(X: Floats, P: Floats, penalty: float) -> Floats:
    """Return the upper triangle of H: blocks XᵀD_kX/n + λI on the diagonal, less ZᵀZ/n for rows z = p ⊗ x."""
    (classes, count), dim = P.shape, X.shape[1]
    H = np.zeros((classes * dim, classes * dim), order="F")
    for start in range(0, count, 256):  # so that Z stays in the cache
        Z = (P.T[start : start + 256, :, None] * X[start : start + 256, None, :]).reshape(-1, classes * dim)
        blas.dsyrk(-1.0 / count, Z.T, beta=1.0, c=H, overwrite_c=1)
    for k in range(classes):
        own = slice(k * dim, (k + 1) * dim)
        H[own, own] += (X.T * (P[k] / count)) @ X
    H[np.diag_indices(classes * dim)] += penalty
    return H
