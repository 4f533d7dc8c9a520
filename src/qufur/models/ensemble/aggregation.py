"""Weights of experts, learned from their out-of-sample predictions and the labels received later."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from operator import mul
from typing import Any

import numpy as np

from qufur.arrays import Floats, check_shapes, strip_prefix

MAX_WEIGHT = 5.0
"""Cap of the importance weight p̄/p of one label."""
CHOICE_PREFIX = "choice."
"""Prefix of the saved arrays of the weights over bias estimates."""


class Aggregation(ABC):
    """Weights of experts.

    Parameters
    ----------
    prior
        Weights before the first label; their sum is 1.
    """

    def __init__(self, prior: Floats) -> None:
        self.prior = prior
        self.weights = prior.copy()

    @abstractmethod
    def combine(self, expert_outputs: Floats) -> Floats:
        """Return one output per row of the experts' outputs, (rows, experts, outputs)."""

    @abstractmethod
    def update(self, expert_outputs: Floats, label: float, importance: float) -> None:
        """Update the weights with the outputs of all experts for one example, its label and p̄/p."""

    def reset_bias(self) -> None:  # noqa: B027  (most aggregations correct no bias)
        """Discard the errors of recent labels."""

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state as named arrays."""
        return {"weights": self.weights}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `arrays` returned."""
        check_shapes(arrays, {"weights": "e"}, e=len(self.prior))
        self.weights = arrays["weights"]


class PolynomialWeights(Aggregation):
    """ML-Poly on the gradients of the squared loss (Gaillard, Stoltz and van Erven 2014), discounted.

    The regret r of an expert is the rate at which the loss falls as the expert's weight grows. Weights are
    proportional to the positive part of Σ r, divided by Σ r². There is no learning rate, and the units of
    the labels do not matter. Both sums are discounted, because the best expert may change.

    Examples
    --------
    >>> weights = PolynomialWeights(np.array([0.5, 0.5]))
    >>> weights.update(np.array([[1.0], [3.0]]), 1.0, 1.0)
    >>> weights.weights
    array([1., 0.])
    """

    discount = 0.995

    def __init__(self, prior: Floats) -> None:
        super().__init__(prior)
        # Python floats: NumPy is slower for the few numbers of an ensemble.
        self._prior: list[float] = prior.tolist()
        self._regret = self._squares = [0.0] * len(prior)
        self._largest = 0.0

    def combine(self, expert_outputs: Floats) -> Floats:
        return np.asarray(expert_outputs[:, :, 0] @ self.weights)[:, None]

    def update(self, expert_outputs: Floats, label: float, importance: float) -> None:
        predictions = expert_outputs[:, 0].tolist()
        self._update(predictions, _weighted_sum(self.weights, predictions), label, importance)

    def _update(self, predictions: list[float], combined: float, label: float, importance: float) -> None:
        """Update the weights with the experts' predictions of one example and their weighted sum."""
        gradient = 2 * min(MAX_WEIGHT, importance) * (combined - label)
        regret = [gradient * (combined - prediction) for prediction in predictions]
        squares = [value * value for value in regret]
        discount = self.discount
        self._regret = [discount * r + new for r, new in zip(self._regret, regret, strict=True)]
        self._squares = [discount**2 * s + new for s, new in zip(self._squares, squares, strict=True)]
        self._largest = largest = max(self._largest, *squares)
        if largest:
            sums = zip(self._prior, self._regret, self._squares, strict=True)
            scores = [p * r / (largest + s) if r > 0 else 0.0 for p, r, s in sums]
            total = math.fsum(scores)
            self.weights = np.array([score / total for score in scores] if total > 0 else self._prior)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        sums = np.array([self._regret, self._squares])
        return super().arrays() | {"sums": sums, "largest": np.array([self._largest])}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        super().restore(arrays)
        check_shapes(arrays, {"sums": (2, "e"), "largest": (1,)}, e=len(self.prior))
        self._regret, self._squares = arrays["sums"].tolist()
        self._largest = arrays["largest"].item()


class BiasCorrectedWeights(PolynomialWeights):
    """Polynomial weights with a bias correction from the recent errors of the ensemble.

    Rows arrive in order, and the errors of neighbouring rows are correlated. Each bias estimate is the mean
    of recent errors, discounted with a half-life of 1 or 4 labels and shrunk towards 0 by one label without
    error. Polynomial weights combine the two estimates and the estimate 0; the result is added to the output.

    Examples
    --------
    >>> corrected = BiasCorrectedWeights(np.array([1.0]))
    >>> for _ in range(9):
    ...     corrected.update(np.array([[1.0]]), 3.0, 1.0)
    >>> corrected.combine(np.array([[[5.0]]])).round(1)
    array([[6.6]])
    """

    half_lives = 1.0, 4.0
    bias_discounts = tuple(0.5 ** (1 / half_life) for half_life in half_lives)
    bias_prior = np.array([0.6, 0.2, 0.2])
    """Prior weights of no correction and of the estimate of each half-life."""

    def __init__(self, prior: Floats) -> None:
        super().__init__(prior)
        self._choice = PolynomialWeights(self.bias_prior)
        self.reset_bias()

    def reset_bias(self) -> None:
        self._set_errors([0.0] * len(self.half_lives), [0.0] * len(self.half_lives))

    def _set_errors(self, errors: list[float], counts: list[float]) -> None:
        self._errors, self._counts = errors, counts
        self._biases = [0.0, *(error / (count + 1) for error, count in zip(errors, counts, strict=True))]
        self._bias = _weighted_sum(self._choice.weights, self._biases)

    def combine(self, expert_outputs: Floats) -> Floats:
        return super().combine(expert_outputs) + self._bias

    def update(self, expert_outputs: Floats, label: float, importance: float) -> None:
        predictions = expert_outputs[:, 0].tolist()
        combined = _weighted_sum(self.weights, predictions)
        corrected = [combined + bias for bias in self._biases]
        self._choice._update(corrected, combined + self._bias, label, importance)
        discounts = self.bias_discounts
        self._set_errors(
            [kept * error + (label - combined) for kept, error in zip(discounts, self._errors, strict=True)],
            [kept * count + 1 for kept, count in zip(discounts, self._counts, strict=True)],
        )
        self._update(predictions, combined, label, importance)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        choice = {f"{CHOICE_PREFIX}{name}": array for name, array in self._choice.arrays().items()}
        return super().arrays() | choice | {"levels": np.array([self._errors, self._counts])}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        super().restore(arrays)
        check_shapes(arrays, {"levels": (2, "h")}, h=len(self.half_lives))
        self._choice.restore(strip_prefix(CHOICE_PREFIX, arrays))
        self._set_errors(*arrays["levels"].tolist())


class ExponentialWeights(Aggregation):
    """Exponential weights on the log loss with fixed share, for class probabilities.

    A label multiplies each weight by exp(−η·loss). A small share of the total is then redistributed
    according to the prior, so that the weight of an expert can recover. The output is the normalised
    weighted geometric mean of the experts' probabilities.
    """

    rate = 0.5
    share = 0.01
    min_probability = 0.003
    max_loss = -np.log(0.01)

    def combine(self, expert_outputs: Floats) -> Floats:
        logs = np.log(np.maximum(expert_outputs, self.min_probability))
        pooled = np.einsum("e,reo->ro", self.weights, logs)
        powers = np.exp(pooled - pooled.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def update(self, expert_outputs: Floats, label: float, importance: float) -> None:
        losses = np.minimum(-np.log(expert_outputs[:, int(label)]), self.max_loss)
        rate = self.rate * min(MAX_WEIGHT, importance)
        weights = self.weights * np.exp(-rate * (losses - losses.min()))
        self.weights = (1 - self.share) * weights / weights.sum() + self.share * self.prior


def _weighted_sum(weights: Floats, values: list[float]) -> float:
    """Return Σ w·v, rounded once: equal on every machine, so that weights can be replayed."""
    return math.fsum(map(mul, weights.tolist(), values))
