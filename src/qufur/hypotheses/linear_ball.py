"""Linear functions with bounded coefficients: a ball intersected with an ellipsoid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Bools, Floats, as_count, as_number, set_fields
from qufur.hypotheses.base import HypothesisClass, Spread


@dataclass(frozen=True)
class LinearBall(HypothesisClass):
    """Functions ⟨θ, x⟩ with ‖θ‖ ≤ C.

    The confidence set is the intersection of the ball and the ellipsoid Σ ⟨θ − θ̂, x⟩² ≤ β. Neither alone
    gives the largest disagreement, and there is no closed form; the ellipsoid alone would give 4β‖x‖² in the
    inverse of Σ x xᵀ. The disagreement is computed to about 1e-12 from the dual of the two constraints, after
    one of the multipliers is eliminated. Because of the ball it depends on θ̂, hence on labels.

    Cost: O(n d²) for n queried inputs whenever the set changes, then O(d²) per input.

    Parameters
    ----------
    dim
        d ≥ 1.
    norm_bound
        C > 0.
    input_bound
        Upper bound of ‖x‖, used by the covering number only; 1 in the paper.

    Examples
    --------
    >>> ball = LinearBall(2, norm_bound=1.0)
    >>> x = np.array([[1.0, 0.0]])
    >>> ball.disagreement(np.empty((0, 2)), np.zeros(2), 0.01, x)
    array([4.])
    >>> ball.disagreement(x, np.zeros(2), 0.01, np.array([[1.0, 0.0], [0.0, 1.0]])).round(8)
    array([0.04, 4.  ])
    """

    dim: int
    norm_bound: float = 1.0
    input_bound: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, dim=as_count(self.dim, "dim", "LinearBall"))
        set_fields(self, norm_bound=as_number(self.norm_bound, "norm_bound", "LinearBall", low=0))
        set_fields(self, input_bound=as_number(self.input_bound, "input_bound", "LinearBall", low=0))

    def fit(self, X: Floats, y: Floats) -> Floats:
        """Return the θ̂ of least squares in the ball; of several the one of smallest norm."""
        s, V, b = _decomposed(X, y)
        z = np.divide(b, s, out=np.zeros_like(b), where=s > 0)
        if np.linalg.norm(z) > self.norm_bound:
            z = _on_the_sphere(s, b, self.norm_bound)
        return np.asarray(V @ z)

    def predict(self, fit: Floats, X: Floats) -> Floats:
        return np.asarray(np.einsum("ij,j->i", X, fit))

    def confidence_set(self, queried: Floats, fit: Floats, radius: float) -> Spread:
        s, V, _ = _decomposed(queried, np.zeros(len(queried)))
        C = self.norm_bound
        # In units of C, and along the axes of the ellipsoid: ‖u‖ ≤ 1 and Σ g (u − t)² ≤ 1.
        g = np.minimum(s * (C / math.sqrt(radius)), 1e60) ** 2 if len(queried) else s
        t = np.where(g > 0, V.T @ fit / C, 0.0)

        def spread(X: Floats) -> Floats:
            largest = np.abs(X).max(axis=1, initial=0.0)  # so that squares neither overflow nor underflow
            scaled = X / np.where(largest > 0, largest, 1.0)[:, None]
            norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
            directions = np.einsum("ij,jk->ik", scaled / np.where(norms > 0, norms, 1.0)[:, None], V)
            extent = support(np.concatenate([directions, -directions]), g, t)
            width = C * norms * (extent[: len(X)] + extent[len(X) :])
            with np.errstate(over="ignore"):
                return np.asarray(width * largest)

        return spread

    def log_covering(self, scale: float) -> float:
        """Return d ln(1 + 2Cb/ε): balls of radius ε/b cover the ball of radius C, for inputs of norm ≤ b."""
        return self.dim * math.log1p(2 * self.norm_bound * self.input_bound / scale)


def support(X: Floats, g: Floats, t: Floats) -> Floats:
    """Return max ⟨x, u − t⟩ over ‖u‖ ≤ 1 and Σ g (u − t)² ≤ 1 for each unit or zero row, where ‖t‖ ≤ 1.

    Adding ρ times the first constraint to the second gives one ellipsoid that contains the set, over which
    the maximum is φ(ρ) = −⟨x, ρt/(g+ρ)⟩ + √(r Σ x²/(g+ρ)) with r = 1 + ρ(1 − Σ t² g/(g+ρ)). By duality the
    minimum of φ is the result; φ is unimodal, and by the envelope theorem it falls while the maximiser u(ρ)
    lies outside the ball. The maximum over the ball (ρ = ∞) or over the ellipsoid (ρ = 0) is the result if it
    satisfies the other constraint.
    """
    maximum = 1.0 - np.einsum("ij,j->i", X, t)
    unsolved = (np.einsum("j,ij->i", g, (X - t) ** 2) > 1.0) & X.any(axis=1)
    if unsolved.any():
        maximum[unsolved] = np.minimum(maximum[unsolved], _between(X[unsolved], g, t))
    return np.where(X.any(axis=1), np.maximum(maximum, 0.0), 0.0)


def _between(X: Floats, g: Floats, t: Floats) -> Floats:
    """Return the minimum of φ for each row, by bisection over ln ρ."""
    low = np.full(len(X), math.log(1e-40))
    high = np.full(len(X), math.log(1e17) + math.log(max(1.0, g.max())))
    for _ in range(18):
        middle = (low + high) / 2
        outside = _maximum(X, g, t, middle)[1] > 1.0
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    # φ is flat around its minimum, so that one secant step suffices at the end.
    excess = [np.log(_maximum(X, g, t, end)[1]) for end in (low, high)]
    between: Bools = (excess[0] > 0) & (excess[1] < 0)
    share = np.divide(excess[0], excess[0] - excess[1], out=np.full(len(X), 0.5), where=between)
    ends = (low, low + share * (high - low), high)
    return np.asarray(np.min([_maximum(X, g, t, end)[0] for end in ends], axis=0))


def _maximum(X: Floats, g: Floats, t: Floats, log_rho: Floats) -> tuple[Floats, Floats]:
    """Return φ(ρ) and ‖u(ρ)‖ for each row."""
    rho = np.exp(log_rho)
    weight = 1.0 / (g + rho[:, None])
    V = X * weight
    q = np.einsum("ij,ij->i", X, V)
    r = 1.0 + rho * np.maximum(1.0 - np.einsum("j,ij->i", g * t * t, weight), 0.0)
    u = g * t * weight + V * np.sqrt(r / q)[:, None]
    return np.sqrt(r * q) - rho * np.einsum("ij,j->i", V, t), np.sqrt(np.einsum("ij,ij->i", u, u))


def _decomposed(X: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return s, V and b with ‖Xθ − y‖² = ‖diag(s) Vᵀθ − b‖² + constant; s is 0 outside the row space of X."""
    Q, R = np.linalg.qr(X)
    U, values, Vt = np.linalg.svd(R, full_matrices=True)
    s, b = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    s[: len(values)] = np.where(
        values > np.finfo(float).eps * max(X.shape) * values.max(initial=0), values, 0
    )
    b[: len(values)] = U.T @ (Q.T @ y)
    return s, Vt.T, b


def _on_the_sphere(s: Floats, b: Floats, norm: float) -> Floats:
    """Return the minimiser of ‖diag(s)z − b‖ with ‖z‖ = `norm`: z = sb/(s² + μ), for the right μ > 0."""
    from scipy.optimize import brentq

    def shrunk(mu: float) -> Floats:
        return np.divide(s * b, s * s + mu, out=np.zeros_like(b), where=s > 0)

    def excess(mu: float) -> float:  # nearly linear in μ
        return 1.0 / norm - 1.0 / float(np.linalg.norm(shrunk(mu)))

    mu = brentq(excess, 0.0, float(np.linalg.norm(s * b)) / norm, xtol=1e-300, rtol=1e-15, maxiter=500)
    z = shrunk(mu)
    return np.asarray(z * (norm / np.linalg.norm(z)))
