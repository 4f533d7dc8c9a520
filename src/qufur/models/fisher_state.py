"""What a softmax classifier knows, with Δ from its own Fisher information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, check_shapes
from qufur.models.base import Id, State
from qufur.models.information import Information, InformationOfFew, InformationOfMany
from qufur.models.lookahead import Lookahead, OneRow

if TYPE_CHECKING:
    from qufur.models.softmax import FisherSoftmax


class FisherState(State):
    """Trained weights, and what their Fisher information says, made anew when weights or queries change."""

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
