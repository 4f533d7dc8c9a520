"""States of softmax classifiers: Δ on raw features, or from the Fisher information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, strip_prefix
from qufur.models.base import State
from qufur.models.capabilities import Probabilistic
from qufur.models.engines.base import predict_between_labels
from qufur.models.gram.gram import Gram
from qufur.models.gram.update import cholesky_of_sum, forward
from qufur.models.lookahead import Arrivals, BlockCost, BlockLimits, Lookahead, OneByOneState, QueryTerms
from qufur.pending import Pending, PendingQueries, check_features, feature_rows

if TYPE_CHECKING:
    from qufur.models.softmax import Softmax


class ClassifierState(State, Probabilistic):
    """State with trained weights (`trainer`), which give the predictions."""

    model: Softmax

    def __init__(self, model: Softmax, pending: PendingQueries | None = None) -> None:
        super().__init__(model, pending)
        self.trainer = model.training.start(model.dim, model.classes)

    def predict(self, X: Floats) -> Floats:
        """Return the most probable class of each row, from the labelled data alone."""
        return self.trainer.predict(X)

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""
        return self.trainer.probabilities(X)


class SoftmaxState(ClassifierState):
    """State of a linear model (`inputs`), which gives Δ, and trained weights (`trainer`).

    The linear state gets every query and every arrival, with 0 for every label: labels go to the trainer.
    """

    def __init__(self, model: Softmax, pending: PendingQueries | None = None) -> None:
        super().__init__(model, pending)
        self.inputs = model.raw.start(self.pending)

    def block_limits(self, at_once: bool) -> BlockLimits:
        """Return the block limits of the linear state."""
        return self.inputs.block_limits(at_once)

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        return self.inputs.uncertainty(X)

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the class and Δ of the next input of the stream; `square` is ‖x‖²."""
        return self.predict(x[None]).item(), self.inputs.predict_next(x, square)[1]

    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead over the longest prefix of X that the linear state decides in one block."""
        return SoftmaxLookahead(self, X, self.inputs.look_ahead(X))

    def query(self, queries: Sequence[Pending], X: Floats) -> None:
        """Record queries for the labels of these rows."""
        self.inputs.query(queries, X)

    def label(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Learn the labels of recorded queries, in this order."""
        self.inputs.label(queries, np.zeros(len(queries)))
        self.trainer.learn(self.inputs.rows_of(queries), labels.astype(np.int64))

    def retract(self, query: Pending) -> None:
        """Remove a recorded query."""
        self.inputs.retract(query)

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not queried, in this order."""
        self.inputs.learn(X, np.zeros(len(X)))
        self.trainer.learn(X, labels.astype(np.int64))

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = self.inputs.save()
        trained = {f"trainer.{name}": array for name, array in self.trainer.arrays().items()}
        return values, {f"inputs.{name}": array for name, array in arrays.items()} | trained

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        self.inputs.restore(values, strip_prefix("inputs.", arrays))
        self.trainer.restore(strip_prefix("trainer.", arrays))


class SoftmaxLookahead(Lookahead):
    """Look-ahead in which the linear state decides, and the trainer learns labels as they arrive."""

    def __init__(self, state: SoftmaxState, X: Floats, look: Lookahead) -> None:
        self._state = state
        self._look = look
        self._X = X[: len(look)]

    def __len__(self) -> int:
        return len(self._X)

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Decide with the look-ahead of the linear state."""
        cost = self._look.decide(terms)
        self.uncertainty, self.queried = self._look.uncertainty, self._look.queried
        return cost

    def finish(self, queries: Sequence[Pending], arrivals: Arrivals) -> Floats:
        """Return the predictions as labels arrive, training at each arrival."""
        classes = arrivals.labels.astype(np.int64)
        self._state.inputs.record(queries, self._X[self.queried])
        rows = self._state.inputs.rows_of(arrivals.queries)
        unlabelled = Arrivals(arrivals.queries, np.zeros(len(classes)), arrivals.before)
        self._look.finish(queries, unlabelled)
        trainer = self._state.trainer
        return predict_between_labels(trainer.predict, trainer.learn, self._X, rows, classes, arrivals.before)


class FisherState(ClassifierState, OneByOneState):
    """Trained weights and their Fisher information, recomputed when weights or queries change."""

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query and every label so far."""
        if self._derived is None:
            pending = feature_rows(self.pending.values()).reshape(-1, self.model.dim)
            rows = np.concatenate([self.trainer.inputs.astype(np.float64), pending])
            penalty = self.model.raw.penalty
            form = DualInformation if DualInformation.suits(rows, penalty) else PrimalInformation
            self._derived = form(rows, self._class_variances(rows), penalty)
        return self.model.raw.uncertainty_of(
            np.sum(self._derived.variances(X) * self._class_variances(X), axis=1)
        )

    def label(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Learn the labels of recorded queries, in this order."""
        self.learn(feature_rows(queries), labels)

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not queried, in this order."""
        self.trainer.learn(X, labels.astype(np.int64))
        self._derived = None

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        return {}, self.trainer.arrays()

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        check_features(self.pending, self.model.dim)
        self.trainer.restore(arrays)
        self._derived = None

    def _class_variances(self, X: Floats) -> Floats:
        P = self.probabilities(X)
        return P * (1.0 - P)


class DualInformation:
    """F_k = λI + Σ_i w_ik x_i x_iᵀ for every class k, of inputs X (n × d) and weights w (n × classes).

    This is the dual form: with R the root of w_k on the diagonal, F_k⁻¹ = (I − XᵀR(λI + R XXᵀ R)⁻¹RX)/λ.

    One product X Xᵀ serves all classes: n²d + classes · n³/3 flops.
    """

    max_condition = 1e8

    def __init__(self, X: Floats, weights: Floats, regularization: float) -> None:
        self._X, self._regularization = X, regularization
        self._roots = np.sqrt(weights.T / regularization)[:, :, None]
        gram = X @ X.T
        self._factors = [cholesky_of_sum(gram * root * root.T) for root in self._roots]

    @classmethod
    def suits(cls, X: Floats, regularization: float) -> bool:
        """Return whether this form is cheaper and accurate enough."""
        return 0 < len(X) <= X.shape[1] and float(np.vdot(X, X)) < cls.max_condition * regularization

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""
        K = self._X @ Z.T
        halves = [forward(L, root * K) for L, root in zip(self._factors, self._roots, strict=True)]
        reductions = np.array([np.einsum("ij,ij->j", V, V) for V in halves]).T
        remainders = np.einsum("ij,ij->i", Z, Z)[:, None] - reductions
        return np.asarray(np.maximum(remainders, 0.0) / self._regularization)


class PrimalInformation:
    """The F_k of `DualInformation` as one `Gram` per class, which controls its own conditioning."""

    def __init__(self, X: Floats, weights: Floats, regularization: float) -> None:
        self._grams = [Gram(X.shape[1], regularization) for _ in weights.T]
        for gram, weight in zip(self._grams, weights.T, strict=True):
            gram.add(X * np.sqrt(weight)[:, None])

    def variances(self, Z: Floats) -> Floats:
        """Return ‖z‖² in F_k⁻¹ for each row z and class k."""
        return np.stack([gram.variance(Z) for gram in self._grams], axis=1)
