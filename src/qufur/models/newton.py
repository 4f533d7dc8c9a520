"""Newton steps for softmax regression by conjugate gradients.

Both functions solve H s = −g for H V = (P∘U − P Σ_k(P∘U)) X / n + λV with U = V Xᵀ, where V and s are
classes × dim and P is classes × n, until what is left of g is at most `enough`.
"""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats


def step_through_examples(X: Floats, P: Floats, gradient: Floats, penalty: float, enough: float) -> Floats:
    """Return s at two products with X per iteration."""
    step = np.zeros_like(gradient)
    rest = -gradient
    direction, square = rest.copy(), float(np.vdot(rest, rest))
    for _ in range(2 * rest.size):
        product = _curved(direction @ X.T, P) @ X
        product += penalty * direction
        length = square / float(np.vdot(direction, product))
        step += length * direction
        product *= length
        rest -= product
        before, square = square, float(np.vdot(rest, rest))
        if square <= enough**2:
            break
        direction *= square / before
        direction += rest
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
