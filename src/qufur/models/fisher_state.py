"""What a softmax classifier knows, with Δ from its own Fisher information, a Gram matrix for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qufur.arrays import Floats, check_shapes
from qufur.models.base import Id, State
from qufur.models.gram.gram import Gram
from qufur.models.gram.update import cholesky_of_sum, forward
from qufur.models.lookahead import Lookahead, OneRow

if TYPE_CHECKING:
    from qufur.models.softmax import FisherSoftmax


class FisherState(State):
    """Trained weights, and what their Fisher information says, made anew when weights or queries change."""

    model: FisherSoftmax

    def __init__(self, model: FisherSoftmax) -> None:
        self.model = model
        self.trainer = model.training.start(model.dim, model.classes)
        self.pending: dict[Id, Floats] = {}
        self._information: Information | None = None

    def predict(self, X: Floats) -> Floats:
        """Return the most probable class of each row, from the labelled data alone."""
        return self.trainer.predict(X)

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""
        return self.trainer.probabilities(X)

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query and every label so far."""
        if self._information is None:
            self._information = self._informed()
        return self.model.raw.uncertainty_of(
            np.sum(self._information.variances(X) * self._class_variances(X), axis=1)
        )

    def look_ahead(self, X: Floats) -> Lookahead:
        """Look at the first row alone: labels change Δ of the others."""
        return OneRow(self, X[:1])

    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for."""
        self.pending.update((id, row.copy()) for id, row in zip(ids, X, strict=True))
        self._information = None

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries, in this order."""
        self.trainer.learn(self._rows_of(ids), labels.astype(np.int64))
        self._drop(ids)

    def retract(self, id: Id) -> None:
        """Forget a pending query."""
        self._drop([id])

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for, in this order."""
        self.trainer.learn(X, labels.astype(np.int64))
        self._information = None

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        ids = list(self.pending)
        return {"pending": ids}, self.trainer.arrays() | {"pending": self._rows_of(ids)}

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
        check_shapes(arrays, {"pending": "nd"}, d=self.model.dim)
        self.trainer.restore(arrays)
        self.pending = dict(zip(values["pending"], arrays["pending"], strict=True))
        self._information = None

    def _informed(self) -> Information:
        rows = np.concatenate([self.trainer.inputs.astype(np.float64), self._rows_of(list(self.pending))])
        kind = InformationOfFew if InformationOfFew.suits(rows, self.model.raw.penalty) else InformationOfMany
        return kind(rows, self._class_variances(rows), self.model.raw.penalty)

    def _class_variances(self, X: Floats) -> Floats:
        P = self.probabilities(X)
        return P * (1.0 - P)

    def _drop(self, ids: Sequence[Id]) -> None:
        for id in ids:
            del self.pending[id]
        self._information = None

    def _rows_of(self, ids: Sequence[Id]) -> Floats:
        return np.array([self.pending[id] for id in ids]).reshape(len(ids), self.model.dim)


class Information(Protocol):
    """F_k = λI + Σ_i w_ik x_i x_iᵀ for every class k, of inputs X (n × d) and weights w (n × classes)."""

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""


class InformationOfFew:
    """The dual form: with R the root of w_k on the diagonal, F_k⁻¹ = (I − XᵀR(λI + R XXᵀ R)⁻¹RX)/λ.

    One product X Xᵀ serves all classes: n²d + classes · n³/3 flops.
    """

    worst_condition = 1e8

    def __init__(self, X: Floats, weights: Floats, regularization: float) -> None:
        self._X, self._regularization = X, regularization
        self._roots = np.sqrt(weights.T / regularization)[:, :, None]
        gram = X @ X.T
        self._factors = [cholesky_of_sum(gram * root * root.T) for root in self._roots]

    @classmethod
    def suits(cls, X: Floats, regularization: float) -> bool:
        """Whether this form is the cheaper one, and loses no digits that matter."""
        return 0 < len(X) <= X.shape[1] and float(np.vdot(X, X)) < cls.worst_condition * regularization

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""
        K = self._X @ Z.T
        halves = [forward(L, root * K) for L, root in zip(self._factors, self._roots, strict=True)]
        taken = np.array([np.einsum("ij,ij->j", V, V) for V in halves]).T
        rest = np.einsum("ij,ij->i", Z, Z)[:, None] - taken
        return np.asarray(np.maximum(rest, 0.0) / self._regularization)


class InformationOfMany:
    """One `Gram` per class, which minds its own digits."""

    def __init__(self, X: Floats, weights: Floats, regularization: float) -> None:
        self._grams = [Gram(X.shape[1], regularization) for _ in weights.T]
        for gram, weight in zip(self._grams, weights.T, strict=True):
            gram.add(X * np.sqrt(weight)[:, None])

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""
        return np.stack([gram.variance(Z) for gram in self._grams], axis=1)
