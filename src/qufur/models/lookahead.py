"""Interface of the look-ahead over a block of inputs, and the look-ahead over one row."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.errors import InvalidError, invalid
from qufur.models.base import State
from qufur.pending import Pending


@dataclass(frozen=True)
class Arrivals:
    """Labels that arrive during a block.

    Parameters
    ----------
    queries, labels
        Queries that are answered, in order of arrival, and their labels.
    before
        Index of the block's first row after each label, ascending; the block's length for labels that arrive
        after its last row.
    """

    queries: Sequence[Pending]
    labels: Floats
    before: Ints


NO_ARRIVALS = Arrivals((), np.empty(0), np.empty(0, dtype=np.int64))


def not_finite_error(prediction: float, uncertainty: float) -> InvalidError:
    """Build the error about an input whose prediction or uncertainty overflows."""
    allowed = "small enough for a finite prediction and uncertainty"
    return invalid("x", "Learner", allowed, f"{prediction} and {uncertainty}", "Scale the inputs.")


class QueryTerms(Protocol):
    """Terms on which the rule queries the next rows of a block.

    Attributes
    ----------
    thresholds, labels_left
        The Δ above which each copy of the rule queries each row (copies × rows), and the labels that each
        copy has left.
    lowest_threshold
        The Δ above which some copy queries each row, given the labels left now.
    """

    @property
    def thresholds(self) -> Floats: ...

    @property
    def labels_left(self) -> Floats: ...

    @property
    def lowest_threshold(self) -> Floats: ...

    def buy(self, row: int, uncertainty: float) -> bool:
        """Query a row and charge its copies; return whether `lowest_threshold` changed for later rows."""

    def record_purchases(self, rows: int | slice | Ints, paying: Bools) -> bool:
        """Charge copies for one or several rows; return whether `lowest_threshold` changed for later rows.

        `paying` is a mask of the copies for one row, and of copies × rows for several.
        """


@dataclass(frozen=True)
class BlockCost:
    """Cost of deciding some rows: rows, candidates (rows whose covariances were computed) and queries."""

    rows: int
    candidates: int
    queries: int

    def __add__(self, other: BlockCost) -> BlockCost:
        """Return the sum of both costs."""
        return BlockCost(
            self.rows + other.rows, self.candidates + other.candidates, self.queries + other.queries
        )


class BlockLimits(NamedTuple):
    """Block sizes worth looking ahead over.

    Attributes
    ----------
    first, smallest, largest
        Rows of the first block, and bounds on the rows of later blocks.
    few, many
        A block with at most `few` candidates may be followed by a larger one; a block with more than `many`
        is followed by a smaller one.
    """

    first: int = 32
    smallest: int = 16
    largest: int = 1024
    few: int = 48
    many: int = 128


class Lookahead(ABC):
    """A block of upcoming inputs: `decide` selects its queries, `finish` absorbs it as a whole.

    Attributes
    ----------
    uncertainty
        Δ of each decided row, given the block's queries before it.
    queried
        Indices of the queried rows, among those decided.
    rows_at_once
        Rows that may be decided before the caller checks the length again; None for all.
    largest_loss
        For a learned label range: the largest possible loss of each row under the range observed before it, 0
        without one. Set by `finish`.
    """

    uncertainty: Floats
    queried: Ints = np.empty(0, dtype=np.int64)
    rows_at_once: int | None = None
    largest_loss: Floats | None = None

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows in the block; `decide` may shorten it."""

    @abstractmethod
    def decide(self, terms: QueryTerms) -> BlockCost:
        """Decide the next rows, as many as `terms` covers, with the same decisions as one by one."""

    @abstractmethod
    def finish(self, queries: Sequence[Pending], arrivals: Arrivals) -> Floats:
        """Return the predictions of all rows as labels arrive, and move the state to the block's end.

        All rows must be decided. `queries` are those of the block, in order; the state's mapping contains the
        ones that are still open at the block's end.
        """


class OneRow(Lookahead):
    """Look-ahead over a single input, for every model."""

    def __init__(self, state: State, X: Floats) -> None:
        self._state = state
        self._X = X
        self._prediction, uncertainty = state.predict_next(X[0], float(X[0].dot(X[0])))
        if not math.isfinite(self._prediction + uncertainty):
            raise not_finite_error(self._prediction, uncertainty)
        self.uncertainty = np.array([uncertainty])

    def __len__(self) -> int:
        return 1

    def decide(self, terms: QueryTerms) -> BlockCost:
        """Query the row if Δ exceeds the lowest threshold."""
        uncertainty = self.uncertainty.item()
        if uncertainty > terms.lowest_threshold.item():
            terms.buy(0, uncertainty)
            self.queried = np.zeros(1, dtype=np.int64)
        return BlockCost(1, 1, len(self.queried))

    def finish(self, queries: Sequence[Pending], arrivals: Arrivals) -> Floats:
        """Return the prediction, record the query if there is one, then learn the labels that arrived."""
        if queries:
            self._state.query(queries, self._X)
        if arrivals.queries:
            self._state.label(arrivals.queries, arrivals.labels)
        self._state.advance(1)
        return np.array([self._prediction])


class OneByOneState(State):
    """Base of states in which labels change Δ of later rows, so that rows are decided one by one."""

    _derived: Any = None
    """Quantities that Δ is computed from; None after a change, until the next use."""

    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead over the first row alone."""
        return OneRow(self, X[:1])

    def query(self, queries: Sequence[Pending], X: Floats) -> None:
        """Record queries for the labels of these rows; Δ falls immediately."""
        for query, row in zip(queries, X, strict=True):
            query.features = row.copy()
        self._derived = None

    def retract(self, query: Pending) -> None:
        """Remove a recorded query whose label will never arrive."""
        self._derived = None
