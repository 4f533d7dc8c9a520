"""A look ahead over a block of inputs, and over a single one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.errors import InvalidError, invalid
from qufur.models.base import Id, State


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


def beyond_numbers(prediction: float, uncertainty: float) -> InvalidError:
    """Build the complaint about an input that the model cannot compute with."""
    received = f"a prediction of {prediction} and an uncertainty of {uncertainty}"
    return invalid("x", "Learner", "such that they are finite", received, "Scale the inputs.")


class Terms(Protocol):
    """On what terms the labels of a block's next rows are bought.

    Attributes
    ----------
    thresholds, labels_left
        For each copy of the rule and each row, the Δ above which it wants the label; and the labels left.
    lowest_threshold
        For each row, the Δ above which its label is wanted, as things stand.
    """

    @property
    def thresholds(self) -> Floats: ...

    @property
    def labels_left(self) -> Floats: ...

    @property
    def lowest_threshold(self) -> Floats: ...

    def buy(self, row: int, uncertainty: float) -> bool:
        """Buy a label that is wanted; return whether `lowest_threshold` has changed for rows to come."""

    def record_purchases(self, rows: int | slice | Ints, paying: Bools) -> bool:
        """Let each copy pay for a row, or for each of some rows, of which it is known; return the same."""


@dataclass(frozen=True)
class Effort:
    """What it took to decide some rows: of how many covariances were needed, and how many were queried."""

    rows: int
    candidates: int
    queries: int

    def __add__(self, other: Effort) -> Effort:
        """Return what both took."""
        return Effort(
            self.rows + other.rows, self.candidates + other.candidates, self.queries + other.queries
        )


class Reach(NamedTuple):
    """How far it pays to look ahead.

    Attributes
    ----------
    first, smallest, largest
        Over how many inputs at first, and over how few and how many later.
    few, many
        So few candidates are worth a larger block, and more than so many a smaller one.
    """

    first: int = 32
    smallest: int = 16
    largest: int = 1024
    few: int = 48
    many: int = 128


class Lookahead(ABC):
    """A block of upcoming inputs: first its queries are found, then it is absorbed as a whole.

    Attributes
    ----------
    uncertainty
        Δ of each row that was decided, given the block's queries before it.
    queried
        The rows that are queried, of those decided.
    rows_at_once
        How many rows may be decided before it is looked again how many there are; None is all.
    largest_loss
        Where the range of labels is learned: the largest loss that each row may turn out to have, as far as
        was known when it came, 0 if it was not; there once the block is finished.
    """

    uncertainty: Floats
    queried: Ints = np.empty(0, dtype=np.int64)
    rows_at_once: int | None = None
    largest_loss: Floats | None = None

    @abstractmethod
    def __len__(self) -> int:
        """How many rows were taken together; deciding some may end the block there."""

    @abstractmethod
    def decide(self, terms: Terms) -> Effort:
        """Decide the next rows, as many as there are terms for, each as if it had come alone."""

    @abstractmethod
    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the predictions of all rows as labels arrive, and move the state to the block's end.

        All rows must have been decided. `ids` name the queries in order.
        """


class OneRow(Lookahead):
    """The look-ahead over a single input: nothing to look ahead to, and it serves every model."""

    def __init__(self, state: State, X: Floats) -> None:
        self._state = state
        self._X = X
        self._prediction, uncertainty = state.predict_next(X[0], float(X[0].dot(X[0])))
        if not math.isfinite(self._prediction + uncertainty):
            raise beyond_numbers(self._prediction, uncertainty)
        self.uncertainty = np.array([uncertainty])

    def __len__(self) -> int:
        return 1

    def decide(self, terms: Terms) -> Effort:
        """Buy the label if it is wanted."""
        uncertainty = self.uncertainty.item()
        if uncertainty > terms.lowest_threshold.item():
            terms.buy(0, uncertainty)
            self.queried = np.zeros(1, dtype=np.int64)
        return Effort(1, 1, len(self.queried))

    def finish(self, ids: Sequence[Id], arrivals: Arrivals) -> Floats:
        """Return the prediction, then ask for the label if it is wanted, then learn what arrived."""
        if ids:
            self._state.query(ids, self._X)
        if arrivals.ids:
            self._state.label(arrivals.ids, arrivals.labels)
        self._state.advance(1)
        return np.array([self._prediction])
