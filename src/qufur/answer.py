"""Answers of a learner to one input or a batch, and the reason for each decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.ids import Id
from qufur.models.base import Model
from qufur.models.capabilities import ExplainsUncertainty


class AnswerContext(NamedTuple):
    """Inputs of a decision besides the uncertainty.

    Attributes
    ----------
    model
        The learner's model, which relates uncertainty to the norm of an input.
    size
        ‖x‖² of the input as the model uses it; None if Δ is not comparable with it.
    spent, left
        Labels bought before this decision, and labels left then; `left` is None without a budget.
    encoded
        The prediction as a number; for a class, its index.
    at_random
        Whether the uniform draw was below the rule's floor.
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
    """Answer of a learner to one input.

    Attributes
    ----------
    id
        The id that `Learner.tell` takes.
    prediction
        The predicted label.
    uncertainty
        Δ of the input.
    probability
        The probability with which the rule queries the label.
    query
        Whether the rule queried the label.
    """

    circumstances: AnswerContext | None = None
    """Inputs of the decision; None for an answer that was not created by a learner."""

    @property
    def why(self) -> str:
        """The decision in one sentence: uncertainty, probability, what share of the input is new, and budget.

        Examples
        --------
        >>> from qufur import Learner, QuFUR, Ridge
        >>> Learner(Ridge(2), QuFUR(0.5), seed=1).ask([1.0, 0.0]).why
        'Not queried: uncertainty 1, query probability 50 %, 100 % of the input is new; 0 labels bought.'
        >>> Answer(7, 0.0, 0.3, 0.9, True).why
        'Queried: uncertainty 0.3, query probability 90 %.'
        """
        _, _, uncertainty, probability, query = self
        if self.circumstances is None:
            return _decision(query, uncertainty, probability) + "."
        model, size, spent, left, *_ = self.circumstances
        columns = map(_as_column, (query, uncertainty, probability, size, spent, left))
        return next(reasons(model, *columns))


def _as_column(value: Any) -> Any:
    return None if value is None else np.array([value])


def reasons(
    model: Model,
    query: Bools,
    uncertainty: Floats,
    probability: Floats,
    size: Floats | None,
    spent: Ints,
    left: Ints | None,
) -> Iterator[str]:
    """Return one sentence per decision; `size`, `spent` and `left` are columns of `AnswerContext`."""
    decisions = map(_decision, query.tolist(), uncertainty.tolist(), probability.tolist())
    parts = decisions, _new_share(model, uncertainty, size), _budget(spent, left)
    return map("".join, zip(*parts, strict=False))


def _decision(query: bool, uncertainty: float, probability: float) -> str:
    decision = "Queried" if query else "Not queried"
    return f"{decision}: uncertainty {uncertainty:.3g}, query probability {100 * probability:.3g} %"


def _new_share(model: Model, uncertainty: Floats, size: Floats | None) -> Iterator[str]:
    if size is None or not isinstance(model, ExplainsUncertainty):
        return repeat("")
    share = model.unexplained_share(size, uncertainty)
    is_lower_bound = (model.capped(uncertainty) & (share < 1)).tolist()
    return (
        f", {'at least ' if is_bound else ''}{percent:.0f} % of the input is new"
        for is_bound, percent in zip(is_lower_bound, (100 * share).tolist(), strict=True)
    )


def _budget(spent: Ints, left: Ints | None) -> Iterator[str]:
    from qufur._internal.counts import counted

    counts = list(zip(spent.tolist(), repeat(None) if left is None else left.tolist(), strict=False))
    # Most consecutive rows share their counts, so that each text is formatted once.
    texts = {
        (bought, remaining): (
            f"; {counted(bought, 'label')} bought{'' if remaining is None else f', {remaining} left'}."
        )
        for bought, remaining in set(counts)
    }
    return map(texts.__getitem__, counts)


def answer(fields: Sequence[Id | float | bool], circumstances: Sequence[Model | float | None]) -> Answer:
    """Return an `Answer`; the context is an attribute, not a field, so that an answer unpacks into five."""
    # A named tuple is created faster from one tuple than from its fields.
    created = tuple.__new__(Answer, fields)
    created.circumstances = tuple.__new__(AnswerContext, circumstances)
    return created


@dataclass(frozen=True)
class Answers:
    """Answers of a learner to a batch of inputs, stored as columns; iteration yields an `Answer` per row.

    Attributes
    ----------
    id, prediction, uncertainty, probability, query
        As in `Answer`, for each row.
    model
        The learner's model.
    size, spent, left, encoded
        As in `AnswerContext`, for each row.
    at_random
        As in `AnswerContext`, for each queried row.
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
    def from_answer(cls, answer: Answer, case: AnswerContext) -> Answers:
        """Return one answer as columns."""
        id, _, uncertainty, probability, query = answer
        model, size, spent, left, encoded, at_random = case
        number = np.array([encoded])
        return cls(
            [id],
            model.label_codec.decode(number),
            np.array([uncertainty]),
            np.array([probability]),
            np.array([query]),
            model,
            _as_column(size),
            np.array([spent]),
            _as_column(left),
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
        contexts = zip(
            size, self.spent.tolist(), left, self.encoded.tolist(), at_random.tolist(), strict=True
        )
        for row, context in zip(rows, contexts, strict=True):
            yield answer(row, (self.model, *context))
