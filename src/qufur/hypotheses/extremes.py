"""The extreme values at an input that parameters in a confidence set attain, found by a local optimiser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats

if TYPE_CHECKING:
    from qufur.hypotheses.parametric import SmoothClass


class Extremes:
    """Parameters with Σ (f(θ, x) − f̂(x))² ≤ β inside the box and the ball of their class.

    The optimiser (SLSQP) works on z, θ = θ̂ + L⁻ᵀz with LLᵀ = JᵀJ/β + I/width²: there the constraints have
    curvature of about 1, whatever β and the norms of the inputs. What it returns is drawn towards θ̂ until
    every constraint holds, so that each disagreement is attained in the set.
    """

    def __init__(self, family: SmoothClass, queried: Floats, fit: Floats, radius: float) -> None:
        from scipy.linalg import solve_triangular

        self._family, self._queried, self._fit, self._radius = family, queried, fit, radius
        self._low, self._high = family.box
        self._half = (self._high - self._low) / 2
        self._centre = family.values(fit, queried) if len(queried) else np.empty(0)
        J = family.jacobian(fit, queried) if len(queried) else np.empty((0, len(fit)))
        curvature = J.T @ J / radius if len(queried) else 0.0
        L = np.linalg.cholesky(curvature + np.diag(self._half**-2.0))
        self._map = solve_triangular(L, np.eye(len(fit)), lower=True).T
        self._starts = [self.drawn_in(start) for start in family.starting_points()[1:]]

    def slack(self, parameters: Floats) -> Floats:
        """Return how far every constraint is from being violated; none may be negative."""
        parts = [(parameters - self._low) / self._half, (self._high - parameters) / self._half]
        if len(self._queried):
            off = self._family.values(parameters, self._queried) - self._centre
            parts.append(np.array([1.0 - (off @ off) / self._radius]))
        if np.isfinite(self._family.ball):
            parts.append(np.array([1.0 - (parameters @ parameters) / self._family.ball**2]))
        return np.concatenate(parts)

    def slack_slope(self, parameters: Floats) -> Floats:
        """Return the derivatives of `slack` by z."""
        parts = [np.diag(1.0 / self._half), np.diag(-1.0 / self._half)]
        if len(self._queried):
            off = self._family.values(parameters, self._queried) - self._centre
            parts.append(-2.0 / self._radius * (off @ self._family.jacobian(parameters, self._queried))[None])
        if np.isfinite(self._family.ball):
            parts.append(-2.0 / self._family.ball**2 * parameters[None])
        return np.asarray(np.concatenate(parts) @ self._map)

    def spread(self, x: Floats) -> float:
        """Return the difference between the largest and the smallest value found at one input."""
        found = [
            self._extreme(x, start, sign) for start in (self._fit, *self._starts) for sign in (1.0, -1.0)
        ]
        return float(np.ptp([self._family.values(parameters, x)[0] for parameters in found]))

    def drawn_in(self, parameters: Floats) -> Floats:
        """Return a point of the set between the fit and these parameters, as far out as bisection gets."""
        if (self.slack(parameters) >= 0).all():
            return parameters
        step = parameters - self._fit
        inside, outside = 0.0, 1.0
        for _ in range(50):
            middle = (inside + outside) / 2
            if (self.slack(self._fit + middle * step) >= 0).all():
                inside = middle
            else:
                outside = middle
        return np.asarray(self._fit + inside * step)

    def _extreme(self, x: Floats, start: Floats, sign: float) -> Floats:
        from scipy.optimize import minimize

        slope = self._family.score(start, x)[1] @ self._map
        scale = float(np.linalg.norm(slope)) or 1.0

        def at(z: Floats) -> Floats:
            return np.asarray(start + self._map @ z)

        def objective(z: Floats) -> tuple[float, Floats]:
            value, gradient = self._family.score(at(z), x)
            return -sign * value / scale, -sign * (gradient @ self._map) / scale

        held = {
            "type": "ineq",
            "fun": lambda z: self.slack(at(z)),
            "jac": lambda z: self.slack_slope(at(z)),
        }
        options = {"maxiter": 100, "ftol": 1e-11}
        zero = np.zeros(len(start))
        found = minimize(objective, zero, jac=True, constraints=held, method="SLSQP", options=options).x
        return self.drawn_in(at(found)) if np.isfinite(found).all() else start
