"""Classes of differentiable functions of parameters, fitted by local optimisation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur.arrays import Floats, as_count, as_number, is_integer, set_fields
from qufur.errors import invalid
from qufur.hypotheses.base import HypothesisClass, Spread, as_numeric, checked_values

Values = Callable[[Floats, Floats], Any]


class SmoothClass(HypothesisClass):
    """Functions f(θ, x) that are differentiable in θ, for θ in a box or a ball.

    Least squares and the largest disagreement are computed by scipy's local optimisers from several fixed
    starts. So a better fit may exist, and the disagreement is attained within the confidence set: a lower
    bound of the largest. Cost: a few milliseconds per input and start.

    Attributes
    ----------
    box
        Lower and upper bounds of the parameters.
    ball
        Largest allowed ‖θ‖; by default only the box limits θ.
    """

    exact = False
    starts: int
    seed: int
    box: tuple[Floats, Floats]
    ball: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        if not is_integer(self.seed) or self.seed < 0:
            raise invalid("seed", owner, "an integer of at least 0", repr(self.seed))
        dim, starts = as_count(self.dim, "dim", owner), as_count(self.starts, "starts", owner)
        set_fields(self, dim=dim, starts=starts, seed=int(self.seed))

    @abstractmethod
    def values(self, parameters: Floats, X: Floats) -> Floats:
        """Return f(θ, x) for each row."""

    @abstractmethod
    def jacobian(self, parameters: Floats, X: Floats) -> Floats:
        """Return the derivative with respect to each parameter (columns) for each row."""

    def score(self, parameters: Floats, x: Floats) -> tuple[float, Floats]:
        """Return the objective of the extremes, which increases with f(θ, x), and its gradient."""
        return float(self.values(parameters, x)[0]), self.jacobian(parameters, x)[0]

    def fit(self, X: Floats, y: Floats) -> Floats:
        """Return the best of the local minima reached from the starts; the first wins ties."""
        starts = self.starting_points()
        if not len(X):
            return starts[0]
        best, lowest = starts[0], math.inf
        for start in starts:
            parameters = self._local_fit(start, X, y)
            loss = float(((self.values(parameters, X) - y) ** 2).sum())
            if loss < lowest - 1e-9 * (1.0 + loss):  # ignores improvements within rounding error
                best, lowest = parameters, loss
        return best

    def predict(self, fit: Floats, X: Floats) -> Floats:
        return self.values(fit, X)

    def confidence_set(self, queried: Floats, fit: Floats, radius: float) -> Spread:
        extremes = Extremes(self, queried, fit, radius)
        return lambda X: np.array([extremes.spread(x[None, :]) for x in X])

    def starting_points(self) -> list[Floats]:
        """Return the centre of the box, then random points drawn with the seed."""
        low, high = self.box
        points = np.random.default_rng(self.seed).uniform(low, high, (self.starts - 1, len(low)))
        return [self._inside(point) for point in ((low + high) / 2, *points)]

    def _inside(self, parameters: Floats) -> Floats:
        norm = float(np.linalg.norm(parameters))
        return parameters if norm <= self.ball else parameters * (self.ball / norm * (1 - 1e-12))

    def _local_fit(self, start: Floats, X: Floats, y: Floats) -> Floats:
        from scipy.optimize import least_squares, minimize

        def residuals(parameters: Floats) -> Floats:
            return self.values(parameters, X) - y

        def jacobian(parameters: Floats) -> Floats:
            return self.jacobian(parameters, X)

        def loss(parameters: Floats) -> tuple[float, Floats]:
            r = residuals(parameters)
            return float(r @ r) / len(X), 2 * r @ jacobian(parameters) / len(X)

        tolerances = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12}
        parameters = least_squares(residuals, start, jacobian, bounds=self.box, **tolerances).x
        if np.linalg.norm(parameters) <= self.ball:
            return np.asarray(parameters)
        ball = {
            "type": "ineq",
            "fun": lambda p: 1 - (p @ p) / self.ball**2,
            "jac": lambda p: -2 * p / self.ball**2,
        }
        options = {"maxiter": 300, "ftol": 1e-14}
        start = self._inside(parameters)
        parameters = minimize(loss, start, jac=True, constraints=ball, method="SLSQP", options=options).x
        return self._inside(np.asarray(parameters))


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
        curvature = np.diag(self._half_width**-2.0)
        if len(queried):
            self._centre = family.values(fit, queried)
            J = family.jacobian(fit, queried)
            curvature += J.T @ J / radius
        L = np.linalg.cholesky(curvature)
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


@dataclass(frozen=True)
class Parametric(SmoothClass):
    """Functions f(θ, x) given by Python functions, differentiable in θ, for θ in a box.

    Python functions cannot be written to a file, so a learner with this class cannot be saved.

    Parameters
    ----------
    function
        Maps θ of shape (p,) and inputs of shape (n, dim) to n finite values in [−1, 1].
    gradient
        Maps the same arguments to the derivatives with respect to θ, of shape (n, p).
    dim
        Number of input columns.
    bounds
        (lowest, highest) of each parameter.
    lipschitz
        L with |f(θ, x) − f(θ′, x)| ≤ L ‖θ − θ′‖ for all inputs; only the covering number, and so the
        paper's β, needs it.
    starts
        Number of starting points of the optimiser, the centre of the box first.
    seed
        Seed of the other starting points.

    Examples
    --------
    >>> wave = Parametric(
    ...     lambda p, X: np.sin(X @ p), lambda p, X: np.cos(X @ p)[:, None] * X, dim=1, bounds=[(0.0, 3.0)]
    ... )
    >>> X = np.array([[0.2], [0.5], [1.0]])
    >>> wave.fit(X, np.sin(2 * X[:, 0])).round(6)
    array([2.])
    """

    savable = False
    function: Values = field(repr=False)
    gradient: Values = field(repr=False)
    dim: int = field(kw_only=True)
    bounds: Sequence[tuple[float, float]] = field(kw_only=True)
    lipschitz: float | None = field(default=None, kw_only=True)
    starts: int = field(default=4, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("function", "gradient"):
            if not callable(getattr(self, name)):
                raise invalid(name, "Parametric", "a function of (parameters, X)", repr(getattr(self, name)))
        if self.lipschitz is not None:
            set_fields(self, lipschitz=as_number(self.lipschitz, "lipschitz", "Parametric", low=0))
        box = _as_box(self.bounds)
        set_fields(self, bounds=tuple(map(tuple, box.tolist())), box=(box[:, 0], box[:, 1]))

    def values(self, parameters: Floats, X: Floats) -> Floats:
        return checked_values(self.function(parameters, X), (len(X),), "function", "Parametric")

    def jacobian(self, parameters: Floats, X: Floats) -> Floats:
        shape = (len(X), len(self.bounds))
        return checked_values(self.gradient(parameters, X), shape, "gradient", "Parametric")

    def log_covering(self, scale: float) -> float:
        """Return Σ ln⌈w L √p / 2ε⌉ over the widths w of the box, which cubes of half diagonal ε/L cover."""
        if self.lipschitz is None:
            remedy = "Or give ConfidenceSet a radius."
            raise invalid("lipschitz", "Parametric", "given for a covering number", "None", remedy)
        low, high = self.box
        cubes = (high - low) * self.lipschitz * math.sqrt(len(low)) / (2 * scale)
        return float(np.log(np.ceil(cubes)).sum())


def _as_box(bounds: Any) -> Floats:
    box = as_numeric(bounds)
    if box.ndim != 2 or box.shape[1] != 2 or not len(box) or not np.isfinite(box).all():
        allowed = "one pair of finite numbers (low, high) for each of at least one parameter"
        raise invalid("bounds", "Parametric", allowed, repr(bounds))
    if not (box[:, 0] < box[:, 1]).all():
        raise invalid("bounds", "Parametric", "such that low < high", repr(bounds))
    return box
