"""Base classes of models: `Model`, a frozen description, and `State`, which learns."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats
from qufur.models.labels import LabelCodec
from qufur.pending import Pending, PendingQueries

if TYPE_CHECKING:
    from qufur.models.diagnostics.fit import Fit
    from qufur.models.lookahead import BlockLimits, Lookahead


FORMER_MEMBERS = {
    "label_free": "tags.label_free",
    "monotone": "tags.monotone",
    "bounded": "tags.bounded",
    "any_norm": "tags.any_norm",
    "order_free": "tags.order_independent",
    "forgets": "tags.forgets",
    "scales_inputs": "tags.scales_inputs",
    "weighs_purchases": "tags.uses_purchases",
    "quick": "tags.fast",
    "classifies": "label_codec.classifies",
    "given_range": "label_codec.bounds",
    "check_labels": "label_codec.check",
    "encode_labels": "label_codec.encode",
    "decode_predictions": "label_codec.decode",
    "decode_prediction_one": "label_codec.decode_one",
    "example_labels": "label_codec.examples",
}
"""Members of models of version 0.1.0, and what replaces them."""


@dataclass(frozen=True)
class Tags:
    """Properties of a model, for callers and for the contract checks.

    Attributes
    ----------
    label_free
        Whether Δ depends on inputs and queries only, never on labels.
    monotone
        Whether Δ never increases as queries are added.
    bounded
        Whether the memory of the state is bounded, apart from pending queries.
    any_norm
        Whether results stay accurate when the norms of inputs differ by many orders of magnitude.
    order_independent
        Whether the state is independent of the order in which labels arrive.
    forgets
        Whether older labels lose weight, so that the position in the stream matters.
    scales_inputs
        Whether Δ uses units learned from all inputs, labelled or not.
    uses_purchases
        Whether the model uses the terms of purchase of its labels.
    fast
        Whether the contract checks can afford to combine it with every instance of every rule.
    """

    label_free: bool
    monotone: bool
    bounded: bool
    any_norm: bool = False
    order_independent: bool = True
    forgets: bool = False
    scales_inputs: bool = False
    uses_purchases: bool = False
    fast: bool = True


class Model(ABC):
    """Description of a model, immutable; `start` creates the state that learns.

    `qufur.models.capabilities` lists optional abilities: a model inherits those that it has.
    """

    tags: Tags
    """Properties of the model."""
    label_codec: LabelCodec = LabelCodec()
    """Conversion of labels; by default labels are any numbers."""
    dim: int | None
    """Number of input columns; None if the first input sets it."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        former = sorted(FORMER_MEMBERS.keys() & vars(cls).keys())
        if former:
            changes = ", ".join(f"{name} is now {FORMER_MEMBERS[name]}" for name in former)
            raise TypeError(f"{cls.__name__} uses members of an earlier version of Model: {changes}.")

    @abstractmethod
    def start(self, pending: PendingQueries | None = None) -> State:
        """Return the state before any query or label; `pending` is the learner's mapping of open queries."""

    @abstractmethod
    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the loss of each prediction, in the user's units."""

    def loss_one(self, prediction: float, label: float) -> float:
        """Return the loss of one prediction."""
        return float(self.loss(np.array([prediction]), np.array([label]))[0])

    @property
    @abstractmethod
    def loss_scale(self) -> float | None:
        """Largest loss of a prediction in range for a label in range; None if the range is learned."""

    def largest_loss(self, prediction: Floats) -> Floats:
        """Return the largest possible loss of each prediction, for labels in range."""
        return np.full(len(prediction), self.loss_scale)

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest possible loss of one prediction."""
        return float(self.largest_loss(np.array([prediction]))[0])

    def describe(self) -> dict[str, Any]:
        """Return the constructor arguments, as JSON values or NumPy arrays."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_description(cls, description: dict[str, Any], estimators: Mapping[str, Any]) -> Model:
        """Build a model from `describe`; `estimators` supplies those that a file stores by name only."""
        return cls(**description)

    @classmethod
    @abstractmethod
    def examples(cls, dim: int) -> Sequence[Model]:
        """Return small instances for inputs of dimension `dim`, for the contract checks."""


class State(ABC):
    """State of a model. A query and its label are separate events; the label may arrive late or never.

    `qufur.models.capabilities` lists optional abilities.

    Parameters
    ----------
    model
        The model.
    pending
        Open queries by id: the learner's mapping, by default an empty one. The learner adds a query before
        the state records it, and removes it before the state learns its label or retracts it. The state
        never adds or removes queries; it fills in their `features`.
    """

    def __init__(self, model: Any, pending: PendingQueries | None = None) -> None:
        self.model = model
        self.pending: PendingQueries = {} if pending is None else pending

    @abstractmethod
    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that predicts from a frozen copy of the current state."""
        return copy.deepcopy(self).predict

    def frozen(self) -> State:
        """Return a copy for `predict` and `uncertainty` in another thread, while this state changes."""
        return copy.deepcopy(self, {id(self.model): self.model, id(self.pending): dict(self.pending)})

    @abstractmethod
    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the next input of the stream; `square` is ‖x‖².

        If `query` follows, it is for this input.
        """
        return self.predict(x[None]).item(), self.uncertainty(x[None]).item()

    def block_limits(self, at_once: bool) -> BlockLimits:
        """Return the block sizes worth looking ahead over.

        `at_once` tells whether the rule decides a block in one offer or in several.
        """
        from qufur.models.lookahead import BlockLimits

        return BlockLimits()

    @abstractmethod
    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead over the rows of X, or over the longest prefix that fits into one block.

        Without `labels_may_arrive`, no label arrives before the last of these rows is decided.
        """

    @abstractmethod
    def query(self, queries: Sequence[Pending], X: Floats) -> None:
        """Record queries for the labels of these rows: Δ falls now, predictions do not change."""

    @abstractmethod
    def label(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Learn the labels of recorded queries."""

    @abstractmethod
    def retract(self, query: Pending) -> None:
        """Remove a recorded query whose label will never arrive."""

    @abstractmethod
    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not queried."""

    def fit(self) -> Fit | None:
        """Return diagnostics of the model from the labels so far; None if it has no residuals."""
        return None

    def advance(self, count: int) -> None:  # noqa: B027  (most states are independent of time)
        """Move on by `count` decided examples; look-aheads call it when they finish."""

    @abstractmethod
    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state without pending queries as JSON values and named arrays.

        Values have the keys and types of a fresh state; lists and axes that are empty there may grow.
        """

    @abstractmethod
    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned; `pending` has the queries already."""
