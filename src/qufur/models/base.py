"""What a model is: predictions, uncertainties, and a look ahead over a block of inputs."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.models.fit import Fit

Id = int | str


@dataclass(frozen=True)
class Arrivals:
    """Labels that arrive while a block is played.

    Parameters
    ----------
    ids, labels
        Which queries are answered, in order of arrival, and with what.
    before
        The row of the block before which each label is there; rising. The block's length: after its last row.
    """

    ids: Sequence[Id]
    labels: Floats
    before: Ints


NO_ARRIVALS = Arrivals((), np.empty(0), np.empty(0, dtype=np.int64))


class Model(ABC):
    """A description of what can be learned; the state lives in what `start` returns."""

    label_free: ClassVar[bool]
    """Whether Δ depends on inputs and queries only, never on labels."""
    monotone: ClassVar[bool]
    """Whether Δ never rises as queries are added."""
    bounded: ClassVar[bool]
    """Whether the state takes the same memory however much was learned, outstanding queries aside."""
    any_norm: ClassVar[bool]
    """Whether numbers stay right when the norms of inputs differ by many orders of magnitude."""
    dim: int | None
    """Number of input columns, or None where the first input decides."""

    @abstractmethod
    def start(self) -> State:
        """Return the state of a learner that has seen nothing."""

    @abstractmethod
    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the loss of each prediction, in the user's units."""

    @property
    @abstractmethod
    def loss_scale(self) -> float:
        """The largest loss of a prediction in range, for a label in range."""

    def largest_loss(self, prediction: Floats) -> Floats:
        """Return the largest loss that each prediction may turn out to have, for labels in range."""
        return np.full(len(prediction), self.loss_scale)

    def sizes(self, X: Floats) -> Floats | None:
        """Return ‖x‖² of each row as Δ sees it, or None where Δ does not compare with that."""
        return None

    def size(self, x: Floats, square: float) -> float | None:
        """Return ‖x‖² of one input as Δ sees it; `square` is that of its numbers."""
        sizes = self.sizes(x[None])
        return None if sizes is None else sizes.item()

    def outside(self, size: float, uncertainty: float) -> float:
        """Return how much of an input lies outside what has been asked; at least so much if Δ is capped."""
        return 1.0

    def capped(self, uncertainty: float) -> bool:
        """Return whether Δ would be larger if it were not capped."""
        return False

    @property
    def order_free(self) -> bool:
        """Whether what is learned does not depend on the order in which labels arrive."""
        return True

    @property
    def forgets(self) -> bool:
        """Whether what was learned counts less as the stream goes on, so that its place in it matters."""
        return False

    def check_labels(self, labels: Floats) -> None:  # noqa: B027  (most models learn any number)
        """Refuse labels that cannot be learned, before anything has changed; finite ones arrive here."""

    def example_labels(self, numbers: Floats) -> Floats:
        """Turn real numbers about 0 into labels of this model, for the contract checks."""
        return numbers

    def describe(self) -> dict[str, Any]:
        """Return the arguments that make the model, as values that JSON knows or NumPy's."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    @abstractmethod
    def examples(cls, dim: int) -> Sequence[Model]:
        """Return small instances for inputs of dimension `dim`, for the contract checks."""


class State(ABC):
    """What a learner knows. `query` and `label` are separate: labels may come late, or never.

    Attributes
    ----------
    pending
        Inputs whose label was asked for and has not come, by id.
    """

    pending: dict[Id, Floats]

    @abstractmethod
    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that goes on predicting as the state does now."""
        return copy.deepcopy(self).predict

    @abstractmethod
    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""

    def meet(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the one input that is next in the stream; `square` is ‖x‖²."""
        return self.predict(x[None]).item(), self.uncertainty(x[None]).item()

    @abstractmethod
    def look(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X, or over as many of the first as can be taken together."""

    @abstractmethod
    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for: Δ falls now, predictions do not change."""

    @abstractmethod
    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""

    @abstractmethod
    def retract(self, id: Id) -> None:
        """Forget a pending query whose label will never come."""

    @abstractmethod
    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for."""

    def fit(self) -> Fit | None:
        """Return what the labels so far say about the model; None where it has no residuals to judge by."""
        return None

    def advance(self, count: int) -> None:  # noqa: B027  (most states know no time)
        """Note that so many examples were decided; look-aheads say so as they finish."""

    @abstractmethod
    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays.

        Values have the keys and types of a fresh state; lists and axes that are empty there may grow.
        """

    @abstractmethod
    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""


class Terms(Protocol):
    """On what terms the labels of a block are bought.

    Attributes
    ----------
    levels, room
        For each copy of the rule and each row, the Δ above which it wants the label; and the labels left.
    charges
        Which copies paid for each row.
    """

    levels: Floats
    room: Floats
    charges: Bools

    @property
    def lowest(self) -> Floats:
        """For each row the Δ above which its label is wanted, as things stand."""

    def buy(self, row: int, uncertainty: float) -> bool:
        """Buy a label that is wanted; return whether `lowest` has changed for rows to come."""


class Lookahead(ABC):
    """A block of upcoming inputs: first its queries are found, then it is absorbed as a whole.

    Attributes
    ----------
    uncertainty
        Δ of each row given the block's queries before it, once these are decided.
    queried
        The rows that are queried, once that is decided.
    """

    uncertainty: Floats
    queried: Ints = np.empty(0, dtype=np.int64)

    @abstractmethod
    def __len__(self) -> int:
        """How many rows were taken together."""

    @abstractmethod
    def decide(self, terms: Terms) -> int:
        """Decide each row as if it had come alone; return how many of them had to be looked into."""

    @abstractmethod
    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions of all rows as labels arrive, and move the state to the block's end.

        `ids` name the queries in order.
        """


class OneRow(Lookahead):
    """The look-ahead over a single input: nothing to look ahead to, and it serves every model."""

    def __init__(self, state: State, X: Floats) -> None:
        self._state = state
        self._X = X
        self._prediction, uncertainty = state.meet(X[0], float(X[0].dot(X[0])))
        self.uncertainty = np.array([uncertainty])

    def __len__(self) -> int:
        return 1

    def decide(self, terms: Terms) -> int:
        """Buy the label if it is wanted."""
        uncertainty = self.uncertainty.item()
        if uncertainty > terms.lowest.item():
            terms.buy(0, uncertainty)
            self.queried = np.zeros(1, dtype=np.int64)
        return 1

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the prediction, then ask for the label if it is wanted, then learn what arrived."""
        if ids:
            self._state.query(ids, self._X)
        if arrivals.ids:
            self._state.label(arrivals.ids, arrivals.labels)
        self._state.advance(1)
        return np.array([self._prediction])
