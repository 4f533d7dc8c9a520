"""Training to convergence: regularised logistic regression by Newton's method.

`Converged` holds the options and `NewtonTrainer` the state. `step_through_examples` and `step_through_gram`
compute a Newton step by conjugate gradients. Both solve H s = −g for H V = (P∘U − P Σ_k(P∘U)) X / n + λV with
U = V Xᵀ, where V and s are classes × dim and P is classes × n, until the residual ‖H s + g‖ is at most
`tolerance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import Floats, Ints, as_count, as_number, check_shapes, set_fields
from qufur.models.gram import blas
from qufur.models.training.base import Trainer, Training

MAX_HESSIAN_SIZE = 1024
"""Largest number of weights for which the Hessian is computed; it then takes 8 MB."""


@dataclass(frozen=True, kw_only=True)
class Converged(Training):
    """Training that minimises mean negative log-likelihood + penalty/2 · ‖W‖² over all labelled examples.

    `PaperAdam` takes a few steps on the same objective; here it is solved after each update. The result
    depends on the labelled examples and not on their order, as long as their norms are within about six
    orders of magnitude of one another; beyond that, conjugate gradients run out of digits. scikit-learn's
    `LogisticRegression` has the same optimum at C = 1 / (n · penalty).

    Parameters
    ----------
    penalty
        A number above 0.
    tolerance
        A number above 0: the largest distance of the weights from the optimum, as far as double precision
        allows. The curvature of the objective is at least `penalty` everywhere, so training stops at a
        gradient of penalty · tolerance.
    steps
        An integer of at least 1: the largest number of Newton steps per training; three or four are typical.
    """

    order_free = True

    penalty: float = 1e-3
    tolerance: float = 1e-8
    steps: int = 100

    def __post_init__(self) -> None:
        set_fields(
            self,
            penalty=as_number(self.penalty, "penalty", "Converged", low=0),
            tolerance=as_number(self.tolerance, "tolerance", "Converged", low=0),
            steps=as_count(self.steps, "steps", "Converged"),
        )

    def start(self, dim: int, classes: int) -> NewtonTrainer:
        """Return a trainer whose weights are zero."""
        return NewtonTrainer(self, dim, classes)


class Point(NamedTuple):
    """Weights, their probabilities (classes × n), and the objective and its gradient there."""

    W: Floats
    P: Floats
    value: float
    gradient: Floats


class NewtonTrainer(Trainer):
    """Newton's method from the previous weights, with steps computed by conjugate gradients.

    A product with the Hessian takes 4 · classes · n · d flops, or 2 · classes · n² through the Gram matrix of
    the examples, which is stored while n ≤ d. The Hessian itself is computed only if a step would need many
    products.
    """

    def __init__(self, training: Converged, dim: int, classes: int) -> None:
        super().__init__(dim, classes, np.float64)
        self._training = training
        self.weights: Floats = np.zeros((classes, dim))
        self._gram: Floats | None = np.empty((0, 0))

    def learn(self, X: Floats, classes: Ints) -> None:
        """Add the examples and train once."""
        self.add(X, classes)
        if not len(X):
            return
        point, preconditioner = self._at(self.weights), HessianPreconditioner(*self.weights.shape)
        for _ in range(self._training.steps):
            if _norm(point.gradient) <= self._accuracy(point):
                break
            next_point = self._descend(point, self._newton_step(point, preconditioner))
            if next_point is None:
                break
            point = next_point
        self.weights = point.W

    def add(self, X: Floats, classes: Ints) -> None:
        """Store labelled examples, and extend their Gram matrix while n ≤ d."""
        first = len(self.inputs)
        super().add(X, classes)
        if self._gram is None or len(self.inputs) > self.inputs.shape[1]:
            self._gram = None
            return
        if len(self._gram) < len(self.inputs):
            larger = np.empty((len(self._X), len(self._X)))
            larger[:first, :first] = self._gram[:first, :first]
            self._gram = larger
        products = self.inputs @ X.T
        self._gram[: len(products), first : len(products)] = products
        self._gram[first : len(products), : len(products)] = products.T

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as named arrays."""
        count = len(self.inputs)
        gram = {} if self._gram is None else {"gram": self._gram[:count, :count]}
        return super().arrays() | gram

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Load a state that `arrays` returned."""
        super().restore(arrays)
        if "gram" in arrays:
            check_shapes(arrays, {"gram": "nn"}, n=len(self._X))
        self._gram = arrays.get("gram")

    def predict(self, X: Floats) -> Floats:
        """Return the most probable class; scores closer than the tolerance tie, and the first class wins."""
        scores = self.scores(X)
        margin = 4.0 * self._training.tolerance * np.sqrt(np.einsum("ij,ij->i", X, X))
        best = scores.max(axis=1) - margin
        return np.asarray((scores >= best[:, None]).argmax(axis=1), dtype=np.float64)

    def _at(self, W: Floats) -> Point:
        X, Y, penalty = self.inputs, self.targets.T, self._training.penalty
        P = W @ X.T
        P -= P.max(axis=0)
        fit = np.einsum("kn,kn->", P, Y)
        np.exp(P, out=P)
        total = P.sum(axis=0)
        P /= total
        value = (np.log(total).sum() - fit) / len(X) + 0.5 * penalty * np.vdot(W, W)
        return Point(W, P, float(value), (P - Y) @ X / len(X) + penalty * W)

    def _accuracy(self, point: Point) -> float:
        """Return the gradient norm to stop at: penalty · tolerance, or the rounding error of the gradient."""
        penalty, X = self._training.penalty, self.inputs
        terms = _norm(point.P - self.targets.T) * _norm(X) / len(X) + penalty * _norm(point.W)
        return max(penalty * self._training.tolerance, np.finfo(np.float64).eps * terms)

    def _newton_step(self, point: Point, preconditioner: HessianPreconditioner) -> Floats:
        """Solve H s = −g, more accurately the smaller g is, so that convergence stays superlinear."""
        size, penalty = _norm(point.gradient), self._training.penalty
        tolerance = max(min(0.1, size**0.5) * size, 0.1 * self._accuracy(point))
        if self._gram is None:
            return step_through_examples(
                self.inputs, point.P, point.gradient, penalty, tolerance, preconditioner
            )
        gram = self._gram[: len(self.inputs), : len(self.inputs)]
        return step_through_gram(
            self.inputs, gram, point.P, point.gradient, penalty, max(tolerance, 1e-4 * size)
        )

    def _descend(self, point: Point, step: Floats) -> Point | None:
        """Halve the step until the objective falls enough and return that point; None if it never does."""
        slope = float(np.vdot(step, point.gradient))
        # Close to the optimum, values differ by less than their rounding error: the gradient decides there.
        slack = 1e-14 * abs(point.value)
        for halvings in range(40):
            length = 0.5**halvings
            trial = self._at(point.W + length * step)
            if trial.value <= point.value + 1e-4 * length * slope:
                return trial
            if trial.value <= point.value + slack and _norm(trial.gradient) < _norm(point.gradient):
                return trial
        return None


class HessianPreconditioner:
    """Preconditioner of conjugate gradients: the Hessian H of an earlier step, once it is computed.

    Computing H takes about as long as classes · dim / 8 products with it. A step therefore computes it only
    after that number of products (`patience`) did not suffice, for example because columns differ in scale;
    this at most doubles the cost of the step. Later steps then need only a few products each.
    """

    def __init__(self, classes: int, dim: int) -> None:
        size = classes * dim
        self.patience = max(4, size // 8) if size <= MAX_HESSIAN_SIZE else None
        self._factor: Floats | None = None

    def compute(self, X: Floats, P: Floats, penalty: float) -> None:
        """Compute H at these probabilities; use none if rounding makes H indefinite."""
        factor, failed = blas.dpotrf(_hessian(X, P, penalty), overwrite_a=1)
        self._factor = None if failed else factor

    def solve(self, residual: Floats) -> Floats:
        """Return H⁻¹ times a residual; without H, the residual unchanged."""
        if self._factor is None:
            return residual
        solution, _ = blas.dpotrs(self._factor, residual.ravel())
        return np.asarray(solution).reshape(residual.shape)


def step_through_examples(
    X: Floats,
    P: Floats,
    gradient: Floats,
    penalty: float,
    tolerance: float,
    preconditioner: HessianPreconditioner,
) -> Floats:
    """Return s with two products with X per iteration; the preconditioner is reused in the next step."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, previous = np.zeros_like(gradient), 1.0
    for iteration in range(2 * residual.size):
        if iteration == preconditioner.patience:
            preconditioner.compute(X, P, penalty)
            direction *= 0.0
        preconditioned = preconditioner.solve(residual)
        square = float(np.vdot(residual, preconditioned))
        direction *= square / previous
        direction += preconditioned
        product = _curvature_product(direction @ X.T, P) @ X
        product += penalty * direction
        length = square / float(np.vdot(direction, product))
        step += length * direction
        product *= length
        residual -= product
        previous = square
        if float(np.vdot(residual, residual)) <= tolerance**2:
            break
    return step


def step_through_gram(
    X: Floats, gram: Floats, P: Floats, gradient: Floats, penalty: float, tolerance: float
) -> Floats:
    """Return s with one product with X Xᵀ per iteration, which is cheaper while n < 2d.

    All vectors of the iteration have the form γg + BX. They are stored as γ, as B, and as their scores
    γS + B X Xᵀ on the examples, S = g Xᵀ; norms follow from these. Differences of such numbers have half
    the digits, so `tolerance` should not be below a millionth of ‖g‖.
    """
    S, square = gradient @ X.T, float(np.vdot(gradient, gradient))
    squared_gradient = square
    residual, direction, step = -1.0, -1.0, 0.0
    B_residual, B_direction, B_step = np.zeros_like(S), np.zeros_like(S), np.zeros_like(S)
    scores = -S
    for _ in range(2 * gradient.size):
        product = _curvature_product(scores, P)
        curvature = float(np.vdot(scores, product))
        squared_direction = direction * (direction * squared_gradient + np.vdot(S, B_direction))
        squared_direction += np.vdot(scores, B_direction)
        product += penalty * B_direction
        length = square / (curvature + penalty * float(squared_direction))
        step += length * direction
        B_step += length * B_direction
        residual -= length * penalty * direction
        B_residual -= length * product
        residual_scores = B_residual @ gram
        residual_scores += residual * S
        previous = square
        squared_residual = residual * (residual * squared_gradient + np.vdot(S, B_residual))
        squared_residual += np.vdot(residual_scores, B_residual)
        square = float(squared_residual)
        if square <= tolerance**2:
            break
        ratio = square / previous
        direction = ratio * direction + residual
        B_direction *= ratio
        B_direction += B_residual
        scores *= ratio
        scores += residual_scores
    return step * gradient + B_step @ X


def _curvature_product(U: Floats, P: Floats) -> Floats:
    R = U * P
    R -= P * R.sum(axis=0)
    R /= P.shape[1]
    return R


def _hessian(X: Floats, P: Floats, penalty: float) -> Floats:
    """Return the upper triangle of H: blocks XᵀD_kX/n + λI on the diagonal, less ZᵀZ/n for rows z = p ⊗ x."""
    (classes, count), dim = P.shape, X.shape[1]
    H = np.zeros((classes * dim, classes * dim), order="F")
    for start in range(0, count, 256):  # small enough for Z to stay in the cache
        Z = (P.T[start : start + 256, :, None] * X[start : start + 256, None, :]).reshape(-1, classes * dim)
        blas.dsyrk(-1.0 / count, Z.T, beta=1.0, c=H, overwrite_c=1)
    for k in range(classes):
        block = slice(k * dim, (k + 1) * dim)
        H[block, block] += (X.T * (P[k] / count)) @ X
    H[np.diag_indices(classes * dim)] += penalty
    return H


def _norm(array: Floats) -> float:
    return float(np.sqrt(np.vdot(array, array)))
