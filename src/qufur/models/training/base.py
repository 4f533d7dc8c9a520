"""Base classes of the training methods of linear softmax classifiers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qufur.arrays import Floats, Ints, check_shapes


class Training(ABC):
    """Description of a training method, immutable; `start` creates the trainer that holds the weights."""

    order_free: ClassVar[bool]
    """Whether the result is independent of the order in which labels arrive."""

    @abstractmethod
    def start(self, dim: int, classes: int) -> Trainer:
        """Return a trainer without examples."""


class Trainer(ABC):
    """Weights W (classes × dim) of p(k | x) ∝ exp⟨W_k, x⟩, and the examples they were trained on.

    Examples are stored in order of arrival: inputs X (n × dim) and one-hot classes Y (n × classes).
    """

    weights: NDArray[Any]

    def __init__(self, dim: int, classes: int, dtype: DTypeLike) -> None:
        self._X = np.empty((0, dim), dtype)
        self._Y = np.empty((0, classes), dtype)
        self._count = 0

    @property
    def inputs(self) -> NDArray[Any]:
        """Inputs X of the stored examples."""
        return self._X[: self._count]

    @property
    def targets(self) -> NDArray[Any]:
        """One-hot classes Y of the stored examples."""
        return self._Y[: self._count]

    @abstractmethod
    def learn(self, X: Floats, classes: Ints) -> None:
        """Store labelled examples and train."""

    def scores(self, X: Floats) -> NDArray[Any]:
        """Return ⟨W_k, x⟩ for each row x and class k."""
        return np.asarray(X.astype(self._X.dtype, copy=False) @ self.weights.T)

    def predict(self, X: Floats) -> Floats:
        """Return the most probable class of each row."""
        return np.asarray(self.scores(X).argmax(axis=1), dtype=np.float64)

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""
        P = self.scores(X).astype(np.float64)
        P -= P.max(axis=1, keepdims=True)
        np.exp(P, out=P)
        P /= P.sum(axis=1, keepdims=True)
        return P

    def add(self, X: Floats, classes: Ints) -> None:
        """Store labelled examples without training."""
        end = self._count + len(X)
        if end > len(self._X):  # capacity doubles: each row is copied twice on average
            self._X = np.concatenate([self.inputs, np.empty((end, self._X.shape[1]), self._X.dtype)])
            self._Y = np.concatenate([self.targets, np.empty((end, self._Y.shape[1]), self._Y.dtype)])
        self._X[self._count : end] = X
        self._Y[self._count : end] = np.arange(self._Y.shape[1]) == classes[:, None]
        self._count = end

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as named arrays."""
        return {"weights": self.weights, "X": self.inputs, "Y": self.targets}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Load a state that `arrays` returned."""
        check_shapes(arrays, {"weights": "kd", "X": "nd", "Y": "nk"})
        self.weights, self._X, self._Y = (arrays[name] for name in ("weights", "X", "Y"))
        self._count = len(self._X)
