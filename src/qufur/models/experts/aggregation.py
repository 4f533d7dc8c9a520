"""How much each expert counts, from what each said when an example came and the label that came after."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from operator import mul
from typing import Any

import numpy as np

from qufur.arrays import Floats, check_shapes, under

HEAVIEST = 5.0
"""The most examples that one label stands for."""


class Aggregation(ABC):
    """Weights of experts.

    Parameters
    ----------
    prior
        The weights before any label; they sum up to 1.
    """

    def __init__(self, prior: Floats) -> None:
        self.prior = prior
        self.weights = prior.copy()

    @abstractmethod
    def combine(self, said: Floats) -> Floats:
        """Return one output for each row of what experts say, (rows, experts, outputs)."""

    @abstractmethod
    def update(self, said: Floats, label: float, importance: float) -> None:
        """Take in what all experts said of one example, which stands for p̄/p of them, and its label."""

    def forget_errors(self) -> None:  # noqa: B027  (most know of none)
        """Let the errors of the last labels, one by one, be known no more."""

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        return {"weights": self.weights}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned."""
        check_shapes(arrays, {"weights": "e"}, e=len(self.prior))
        self.weights = arrays["weights"]


class PolynomialWeights(Aggregation):
    """ML-Poly on the gradients of the squared loss (Gaillard, Stoltz and van Erven 2014), discounted.

    An expert's regret r is how much the loss would fall, at first, if it counted more. Weights go with the
    sum of r where that is above 0, over the sum of r²: there is no learning rate, and units do not matter.
    Both sums forget, as the best expert may change.

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
        # Python's own numbers: NumPy takes longer over a few.
        self._prior: list[float] = prior.tolist()
        self._regret = self._squares = [0.0] * len(prior)
        self._largest = 0.0

    def combine(self, said: Floats) -> Floats:
        return np.asarray(said[:, :, 0] @ self.weights)[:, None]

    def update(self, said: Floats, label: float, importance: float) -> None:
        each = said[:, 0].tolist()
        self._update(each, _mixed(self.weights, each), label, importance)

    def _update(self, said: list[float], mixed: float, label: float, importance: float) -> None:
        """Take in what the experts said of one example, and what all together did."""
        scale, kept = 2 * min(HEAVIEST, importance) * (mixed - label), self.discount
        regret = [scale * (mixed - each) for each in said]
        squares = [each * each for each in regret]
        self._regret = [kept * r + new for r, new in zip(self._regret, regret, strict=True)]
        self._squares = [kept**2 * s + new for s, new in zip(self._squares, squares, strict=True)]
        self._largest = largest = max(self._largest, *squares)
        if largest:
            sums = zip(self._prior, self._regret, self._squares, strict=True)
            found = [p * r / (largest + s) if r > 0 else 0.0 for p, r, s in sums]
            total = math.fsum(found)
            self.weights = np.array([each / total for each in found] if total > 0 else self._prior)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        sums = np.array([self._regret, self._squares])
        return super().arrays() | {"sums": sums, "largest": np.array([self._largest])}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        super().restore(arrays)
        check_shapes(arrays, {"sums": (2, "e"), "largest": (1,)}, e=len(self.prior))
        self._regret, self._squares = arrays["sums"].tolist()
        self._largest = arrays["largest"].item()


class LevelledWeights(PolynomialWeights):
    """Polynomial weights, and a level: by how much all together were off lately.

    Rows come in order, and those that are near each other are often wrong alike. A level is the mean error of
    the last labels, which count half as much after every 1 or 4 more of them, and one label without error.
    Weights like those of the experts say how much each level counts, and none at all.

    Examples
    --------
    >>> levelled = LevelledWeights(np.array([1.0]))
    >>> for _ in range(9):
    ...     levelled.update(np.array([[1.0]]), 3.0, 1.0)
    >>> levelled.combine(np.array([[[5.0]]])).round(1)
    array([[6.6]])
    """

    half_lives = 1.0, 4.0
    kept = tuple(0.5 ** (1 / half_life) for half_life in half_lives)
    level_prior = np.array([0.6, 0.2, 0.2])
    """Of none, and of each half-life."""

    def __init__(self, prior: Floats) -> None:
        super().__init__(prior)
        self._choice = PolynomialWeights(self.level_prior)
        self.forget_errors()

    def forget_errors(self) -> None:
        self._set_errors([0.0] * len(self.half_lives), [0.0] * len(self.half_lives))

    def _set_errors(self, errors: list[float], counts: list[float]) -> None:
        self._errors, self._counts = errors, counts
        self._levels = [0.0, *(error / (count + 1) for error, count in zip(errors, counts, strict=True))]
        self._level = _mixed(self._choice.weights, self._levels)

    def combine(self, said: Floats) -> Floats:
        return super().combine(said) + self._level

    def update(self, said: Floats, label: float, importance: float) -> None:
        each = said[:, 0].tolist()
        mixed = _mixed(self.weights, each)
        levelled = [mixed + level for level in self._levels]
        self._choice._update(levelled, mixed + self._level, label, importance)
        self._set_errors(
            [kept * error + (label - mixed) for kept, error in zip(self.kept, self._errors, strict=True)],
            [kept * count + 1 for kept, count in zip(self.kept, self._counts, strict=True)],
        )
        self._update(each, mixed, label, importance)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        choice = {f"choice.{name}": array for name, array in self._choice.arrays().items()}
        return super().arrays() | choice | {"levels": np.array([self._errors, self._counts])}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        super().restore(arrays)
        check_shapes(arrays, {"levels": (2, "h")}, h=len(self.half_lives))
        self._choice.restore(under("choice.", arrays))
        self._set_errors(*arrays["levels"].tolist())


def _mixed(weights: Floats, said: list[float]) -> float:
    """Return the weighted sum, rounded once: the same on every machine, so that weights can be replayed."""
    return math.fsum(map(mul, weights.tolist(), said))


class ExponentialWeights(Aggregation):
    """Exponential weights on the log loss with fixed share, for probabilities of classes.

    After a label a weight is multiplied by exp(−η·loss), and a small share of the whole is handed out anew,
    as it was at first: an expert that was bad can come back. Probabilities are pooled by their logarithms.
    """

    rate, share, least = 0.5, 0.01, 0.003
    largest_loss = -np.log(0.01)

    def combine(self, said: Floats) -> Floats:
        logs = np.einsum("e,reo->ro", self.weights, np.log(np.maximum(said, self.least)))
        powers = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def update(self, said: Floats, label: float, importance: float) -> None:
        losses = np.minimum(-np.log(said[:, int(label)]), self.largest_loss)
        rate = self.rate * min(HEAVIEST, importance)
        weights = self.weights * np.exp(-rate * (losses - losses.min()))
        self.weights = (1 - self.share) * weights / weights.sum() + self.share * self.prior
