"""Training to the end: regularised logistic regression by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import Floats, Ints, as_count, as_number, check_shapes, set_fields
from qufur.models.training.base import Trainer, Training
from qufur.models.training.newton import NearbyHessian, step_through_examples, step_through_gram


@dataclass(frozen=True, kw_only=True)
class Converged(Training):
    """After labels come, minimise mean negative log-likelihood + penalty/2 · ‖W‖² over all labelled examples.

    The objective that `PaperAdam` takes a few steps on, solved: the result depends on the labelled examples
    and not on the order in which they came, as long as their norms are within some six orders of magnitude of
    one another: beyond, conjugate gradients run out of digits. scikit-learn's `LogisticRegression` has the
    same optimum at C = 1 / (n · penalty).

    Parameters
    ----------
    penalty
        A number above 0.
    tolerance
        A number above 0: how far the weights may be from the optimum, as far as double precision allows. The
        objective curves by at least `penalty` everywhere, so a gradient of penalty · tolerance will do.
    steps
        An integer of at least 1: the most Newton steps per training; three or four do as a rule.
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
        """Return weights of zero."""
        return NewtonTrainer(self, dim, classes)


class Point(NamedTuple):
    """Some weights, their probabilities (classes × n), and the objective and its gradient there."""

    W: Floats
    P: Floats
    value: float
    gradient: Floats


class NewtonTrainer(Trainer):
    """Newton's method from the previous weights, its systems solved by conjugate gradients.

    A product with the Hessian takes 4 · classes · n · d flops, or 2 · classes · n² through the Gram matrix of
    the examples, which is kept while n ≤ d. The Hessian itself is made where many products would be needed.
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
        point, nearby = self._at(self.weights), NearbyHessian(*self.weights.shape)
        for _ in range(self._training.steps):
            if _norm(point.gradient) <= self._accuracy(point):
                break
            after = self._descend(point, self._newton_step(point, nearby))
            if after is None:
                break
            point = after
        self.weights = point.W

    def add(self, X: Floats, classes: Ints) -> None:
        """Add labelled examples to those kept, and to their Gram matrix while it pays."""
        first = len(self.inputs)
        super().add(X, classes)
        if self._gram is None or len(self.inputs) > self.inputs.shape[1]:
            self._gram = None
            return
        if len(self._gram) < len(self.inputs):
            grown = np.empty((len(self._X), len(self._X)))
            grown[:first, :first] = self._gram[:first, :first]
            self._gram = grown
        products = self.inputs @ X.T
        self._gram[: len(products), first : len(products)] = products
        self._gram[first : len(products), : len(products)] = products.T

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything the state consists of."""
        count = len(self.inputs)
        gram = {} if self._gram is None else {"gram": self._gram[:count, :count]}
        return super().arrays() | gram

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over a state that `arrays` returned."""
        super().restore(arrays)
        if "gram" in arrays:
            check_shapes(arrays, {"gram": "nn"}, n=len(self._X))
        self._gram = arrays.get("gram")

    def predict(self, X: Floats) -> Floats:
        """Return the most probable class, the first of those that the tolerance cannot tell apart."""
        scores = self.scores(X)
        margin = 4.0 * self._training.tolerance * np.sqrt(np.einsum("ij,ij->i", X, X))
        best = scores.max(axis=1) - margin
        return np.asarray((scores >= best[:, None]).argmax(axis=1), dtype=np.float64)

    def gradient(self) -> Floats:
        """Return the gradient of the objective at the weights."""
        return self._at(self.weights).gradient

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
        """Return the gradient that is small enough: the one asked for, or what rounding leaves of zero."""
        penalty, X = self._training.penalty, self.inputs
        terms = _norm(point.P - self.targets.T) * _norm(X) / len(X) + penalty * _norm(point.W)
        return max(penalty * self._training.tolerance, np.finfo(np.float64).eps * terms)

    def _newton_step(self, point: Point, nearby: NearbyHessian) -> Floats:
        """Solve H s = −g, the better the smaller g is: so Newton's convergence stays superlinear."""
        size, penalty = _norm(point.gradient), self._training.penalty
        enough = max(min(0.1, size**0.5) * size, 0.1 * self._accuracy(point))
        if self._gram is None:
            return step_through_examples(self.inputs, point.P, point.gradient, penalty, enough, nearby)
        gram = self._gram[: len(self.inputs), : len(self.inputs)]
        return step_through_gram(
            self.inputs, gram, point.P, point.gradient, penalty, max(enough, 1e-4 * size)
        )

    def _descend(self, point: Point, step: Floats) -> Point | None:
        """Return the first point, at halving distances, that is lower enough; None where there is none."""
        slope = float(np.vdot(step, point.gradient))
        # Close to the optimum, values differ by less than they are rounded: there the gradient decides.
        slack = 1e-14 * abs(point.value)
        for halvings in range(40):
            length = 0.5**halvings
            after = self._at(point.W + length * step)
            if after.value <= point.value + 1e-4 * length * slope:
                return after
            if after.value <= point.value + slack and _norm(after.gradient) < _norm(point.gradient):
                return after
        return None


def _norm(array: Floats) -> float:
    return float(np.sqrt(np.vdot(array, array)))
