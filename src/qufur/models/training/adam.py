"""Training of the paper's classification experiments: a few epochs of Adam after each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import Floats, Ints, as_count, as_number, is_integer, set_fields
from qufur.errors import invalid
from qufur.models.training.base import Trainer, Training

Singles = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class PaperAdam(Training):
    """Training by `epochs` epochs of Adam over all labelled examples after each label, in order of arrival.

    The objective is the mean negative log-likelihood of each batch; weight decay is added to the gradient.
    Weights start uniform in ±1/√d, moments persist over the whole run, and arithmetic is in single precision
    (section "Additional experimental details"; details that the paper omits follow the authors' scripts).
    The result depends on the order of labels.

    Parameters
    ----------
    learning_rate
        A number above 0.
    weight_decay
        A number of at least 0; this multiple of the weights is added to the gradient.
    epochs, batch
        Integers of at least 1; the last batch of an epoch may be smaller.
    seed
        An integer of at least 0, for the initial weights.
    """

    order_free = False

    learning_rate: float = 0.003
    weight_decay: float = 0.001
    epochs: int = 3
    batch: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_integer(self.seed) or self.seed < 0:
            raise invalid("seed", "PaperAdam", "an integer of at least 0", repr(self.seed))
        set_fields(
            self,
            learning_rate=as_number(self.learning_rate, "learning_rate", "PaperAdam", low=0),
            weight_decay=_as_decay(self.weight_decay),
            epochs=as_count(self.epochs, "epochs", "PaperAdam"),
            batch=as_count(self.batch, "batch", "PaperAdam"),
            seed=int(self.seed),
        )

    def start(self, dim: int, classes: int) -> AdamTrainer:
        """Return a trainer with random weights."""
        return AdamTrainer(self, dim, classes)


class AdamTrainer(Trainer):
    """Weights and the two moments of Adam.

    Cost per label: epochs · n / batch steps of 4 · batch · classes · d flops, with about twenty NumPy calls
    each. The moments are stored without their factors 1 − β₁ and 1 − β₂, which enter the step size instead:
    this saves two passes over the weights per step.
    """

    decays = (0.9, 0.999)
    epsilon = 1e-8

    def __init__(self, training: PaperAdam, dim: int, classes: int) -> None:
        super().__init__(dim, classes, np.float32)
        self._training = training
        bound = 1.0 / np.sqrt(dim)
        start = np.random.default_rng(training.seed).uniform(-bound, bound, (classes, dim))
        self.weights: Singles = start.astype(np.float32)
        self.moments = np.zeros((2, classes, dim), np.float32)
        self.steps = 0
        self._decay = np.array(self.decays, np.float32)[:, None, None]
        self._powers = np.empty_like(self.moments)
        self._change = np.empty_like(self.weights)

    def learn(self, X: Floats, classes: Ints) -> None:
        """Store the examples one by one and train after each."""
        for i in range(len(X)):
            self.add(X[i : i + 1], classes[i : i + 1])
            size, inputs, targets = self._training.batch, self.inputs, self.targets.T
            batches = [slice(start, start + size) for start in range(0, len(inputs), size)]
            for batch in batches * self._training.epochs:
                self._step(inputs[batch], targets[:, batch])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as named arrays."""
        return super().arrays() | {"moments": self.moments, "steps": np.array([self.steps])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Load a state that `arrays` returned."""
        super().restore(arrays)
        self.moments, self.steps = arrays["moments"], int(arrays["steps"][0])

    def _step(self, X: Singles, targets: Singles) -> None:
        gradient, squares = self._powers
        self._gradient(X, targets, gradient)
        np.multiply(gradient, gradient, out=squares)
        self.moments *= self._decay
        self.moments += self._powers
        rate, epsilon = self._rates()
        first, second = self.moments
        change = np.sqrt(second, out=self._change)
        change += epsilon
        np.divide(first, change, out=change)
        change *= rate
        self.weights -= change

    def _gradient(self, X: Singles, targets: Singles, out: Singles) -> None:
        P = np.dot(self.weights, X.T)
        P -= np.maximum.reduce(P, axis=0)
        np.exp(P, out=P)
        P /= np.add.reduce(P, axis=0)
        P -= targets
        P *= 1.0 / len(X)
        np.dot(P, X, out=out)
        out += np.multiply(self.weights, self._training.weight_decay, out=self._change)

    def _rates(self) -> tuple[float, float]:
        """Return the next step size and ε, both for moments without their factors."""
        self.steps += 1
        mean, square = ((1.0 - decay) / (1.0 - decay**self.steps) for decay in self.decays)
        root = float(square**0.5)
        return self._training.learning_rate * mean / root, self.epsilon / root


def _as_decay(value: Any) -> float:
    is_zero = value == 0 and not isinstance(value, bool)
    return 0.0 if is_zero else as_number(value, "weight_decay", "PaperAdam", low=0)
