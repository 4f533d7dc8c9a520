"""What a learner answers: one input, or a batch as columns; and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.counts import counted
from qufur.models.base import Id, Model


class Circumstances(NamedTuple):
    """What a decision was made from, besides the uncertainty.

    Attributes
    ----------
    model
        It knows how uncertainty compares with the size of an input.
    size
        ‖x‖² of the input as the model sees it, or None where Δ does not compare with that.
    spent, left
        Labels bought before, and labels that were left; None without a budget.
    encoded
        The prediction as a number; that of a class is its place among all classes.
    at_random
        Whether the label was bought by a coin below the rule's floor.
    """

    model: Model
    size: float | None
    spent: int
    left: int | None
    encoded: float
    at_random: bool


class _Fields(NamedTuple):
    id: Id
    prediction: float
    uncertainty: float
    probability: float
    query: bool


class Answer(_Fields):
    """What a learner says about one input.

    `query` is whether the label is wanted; `probability` is the chance with which it was going to be; `why`
    says how that came about.
    """

    circumstances: Circumstances | None = None
    """None for an answer that no learner made."""

    @property
    def why(self) -> str:
        """The decision in one line: uncertainty, probability, what is new about the input, and the budget.

        Examples
        --------
        >>> from qufur import Learner, QuFUR, Ridge
        >>> Learner(Ridge(2), QuFUR(0.5, budget=9), seed=1).ask([1.0, 0.0]).why
        'not asked: uncertainty 1, probability 0.5, 100 % of the input is new; 0 labels bought, 9 left'
        >>> Answer(7, 0.0, 0.3, 0.9, True).why
        'asked: uncertainty 0.3, probability 0.9'
        """
        _, _, uncertainty, probability, query = self
        if self.circumstances is None:
            return _decision(query, uncertainty, probability)
        model, size, spent, left, *_ = self.circumstances
        sizes, lefts = (None if value is None else np.array([value]) for value in (size, left))
        decided = np.array([query]), np.array([uncertainty]), np.array([probability])
        (line,) = reasons(model, Cases(*decided, sizes, np.array([spent]), lefts))
        return line


class Cases(NamedTuple):
    """Decisions as columns, and what they were made from: sizes, and labels bought and left."""

    query: Bools
    uncertainty: Floats
    probability: Floats
    size: Floats | None
    spent: Ints
    left: Ints | None


def reasons(model: Model, cases: Cases) -> Iterator[str]:
    """Return decisions in one line each."""
    query, uncertainty, probability, size, spent, left = cases
    decisions = map(_decision, query.tolist(), uncertainty.tolist(), probability.tolist())
    return map("".join, zip(decisions, _new(model, uncertainty, size), _bought(spent, left), strict=False))


def _decision(query: bool, uncertainty: float, probability: float) -> str:
    decision = "asked" if query else "not asked"
    return f"{decision}: uncertainty {uncertainty:.3g}, probability {probability:.3g}"


def _new(model: Model, uncertainty: Floats, size: Floats | None) -> Iterator[str]:
    if size is None:
        return repeat("")
    share = model.outside(size, uncertainty)
    least = (model.capped(uncertainty) & (share < 1)).tolist()
    found = zip(least, (100 * share).tolist(), strict=True)
    return (f", {'at least ' if most else ''}{new:.0f} % of the input is new" for most, new in found)


def _bought(spent: Ints, left: Ints | None) -> Iterator[str]:
    both = list(zip(spent.tolist(), repeat(None) if left is None else left.tolist(), strict=False))
    # The same for most of those in a row.
    lines = {
        (bought, more): f"; {counted(bought, 'label')} bought" + ("" if more is None else f", {more} left")
        for bought, more in set(both)
    }
    return map(lines.__getitem__, both)


def answer(fields: Sequence[Id | float | bool], circumstances: Sequence[Model | float | None]) -> Answer:
    """Return an answer; what led to it is not among its fields, so that they unpack into five."""
    # Named tuples are made faster from tuples than from their parts.
    made = tuple.__new__(Answer, fields)
    made.circumstances = tuple.__new__(Circumstances, circumstances)
    return made


@dataclass(frozen=True)
class Answers:
    """What a learner says about a batch of inputs: `Answer`s as columns, and iterable as rows.

    Attributes
    ----------
    size, spent, left, encoded
        As in `Circumstances`, for each row.
    at_random
        As there, for each query.
    """

    id: Sequence[Id]
    prediction: Floats
    uncertainty: Floats
    probability: Floats
    query: Bools
    model: Model
    size: Floats | None
    spent: Ints
    left: Ints | None
    encoded: Floats
    at_random: Bools

    @classmethod
    def of_one(cls, answer: Answer, case: Circumstances) -> Answers:
        """Return one answer as columns."""
        id, _, uncertainty, probability, query = answer
        model, size, spent, left, encoded, at_random = case
        number, sizes = np.array([encoded]), None if size is None else np.array([size])
        return cls(
            [id],
            model.decode_predictions(number),
            np.array([uncertainty]),
            np.array([probability]),
            np.array([query]),
            model,
            sizes,
            np.array([spent]),
            None if left is None else np.array([left]),
            number,
            np.array([at_random] if query else [], dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.id)

    def __iter__(self) -> Iterator[Answer]:
        columns = (self.prediction, self.uncertainty, self.probability, self.query)
        rows = zip(self.id, *(column.tolist() for column in columns), strict=True)
        none = [None] * len(self)
        size, left = (none if column is None else column.tolist() for column in (self.size, self.left))
        at_random = np.zeros(len(self), dtype=bool)
        at_random[self.query] = self.at_random
        more = self.spent.tolist(), left, self.encoded.tolist(), at_random.tolist()
        for row, *case in zip(rows, size, *more, strict=True):
            yield answer(row, (self.model, *case))
