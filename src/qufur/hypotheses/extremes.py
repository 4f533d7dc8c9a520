"""Extreme values at an input over the parameters of a confidence set, by local optimisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats

if TYPE_CHECKING:
    from qufur.hypotheses.parametric import SmoothClass


class Extremes:
    """Largest and smallest values over θ with Σ (f(θ, x) − f̂(x))² ≤ β in the box and the ball of the class.

    The optimiser (SLSQP) works on z, θ = θ̂ + L⁻ᵀz with LLᵀ = JᵀJ/β + I/width²: there the constraints have
    curvature of about 1 for all β and norms of inputs. Its result is pulled towards θ̂ until every constraint
    holds, so that each disagreement is attained in the set.
    """

    def __init__(self, family: SmoothClass, queried: Floats, fit: Floats, radius: float) -> None:
        from scipy.linalg import solve_triangular

        self._family, self._fit = family, fit
        self._queried, self._radius = queried, radius
        self._low, self._high = family.box
        self._half_width = (self._high - self._low) / 2
        self._centre = family.values(fit, queried) if len(queried) else np.empty(0)
        J = family.jacobian(fit, queried) if len(queried) else np.empty((0, len(fit)))
        curvature = J.T @ J / radius if len(queried) else 0.0
        L = np.linalg.cholesky(curvature + np.diag(self._half_width**-2.0))
        self._map = solve_triangular(L, np.eye(len(fit)), lower=True).T
        self._starts = [self.pulled_inside(start) for start in family.starting_points()[1:]]

    def slack(self, parameters: Floats) -> Floats:
        """Return the slack of every constraint; the constraint holds if it is at least 0."""
        slacks = [(parameters - self._low) / self._half_width, (self._high - parameters) / self._half_width]
        if len(self._queried):
            residuals = self._family.values(parameters, self._queried) - self._centre
            slacks.append(np.array([1.0 - (residuals @ residuals) / self._radius]))
        if np.isfinite(self._family.ball):
            slacks.append(np.array([1.0 - (parameters @ parameters) / self._family.ball**2]))
        return np.concatenate(slacks)

    def slack_slope(self, parameters: Floats) -> Floats:
        """Return the derivatives of `slack` with respect to z."""
        slopes = [np.diag(1.0 / self._half_width), np.diag(-1.0 / self._half_width)]
        if len(self._queried):
            residuals = self._family.values(parameters, self._queried) - self._centre
            slopes.append(
                -2.0 / self._radius * (residuals @ self._family.jacobian(parameters, self._queried))[None]
            )
        if np.isfinite(self._family.ball):
            slopes.append(-2.0 / self._family.ball**2 * parameters[None])
        return np.asarray(np.concatenate(slopes) @ self._map)

    def spread(self, x: Floats) -> float:
        """Return the difference between the largest and the smallest value at one input."""
        extremes = [
            self._extreme(x, start, sign) for start in (self._fit, *self._starts) for sign in (1.0, -1.0)
        ]
        return float(np.ptp([self._family.values(parameters, x)[0] for parameters in extremes]))

    def pulled_inside(self, parameters: Floats) -> Floats:
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

        constraints = {
            "type": "ineq",
            "fun": lambda z: self.slack(at(z)),
            "jac": lambda z: self.slack_slope(at(z)),
        }
        options = {"maxiter": 100, "ftol": 1e-11}
        zero = np.zeros(len(start))
        z = minimize(objective, zero, jac=True, constraints=constraints, method="SLSQP", options=options).x
        return self.pulled_inside(at(z)) if np.isfinite(z).all() else start
