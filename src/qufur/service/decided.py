"""What was decided about some examples, as the header of an event has it, and as answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from qufur.answer import Answers, Cases, reasons
from qufur.arrays import Floats
from qufur.decisions import Decisions, decisions_of
from qufur.estimates import intervals
from qufur.learner import Learner
from qufur.models.base import Model

LEVEL = 0.9
"""The share of labels that are to lie in the intervals of answers."""


class Said(msgspec.Struct, gc=False):
    """What is answered about one example."""

    id: str
    prediction: float | str
    interval: tuple[float, float] | None
    uncertainty: float
    probability: float
    query: bool
    why: str


class Decided(NamedTuple):
    """What was decided about consecutive examples.

    Attributes
    ----------
    decisions
        What replay takes.
    error
        Half of the width of intervals; ∞ where it is not known.
    size, spent, left
        What the reasons of answers rest on, for each; None where there is none.
    bounds
        The ends that intervals are clipped to; None where there are none, as in logs of version 0.1.0.
    """

    decisions: Decisions
    error: float
    size: Floats | None
    spent: np.ndarray[Any, Any]
    left: np.ndarray[Any, Any] | None
    bounds: tuple[float, float] | None = None

    @classmethod
    def of(cls, learner: Learner, answers: Answers, error: float) -> Decided:
        """Return what answers say, of which no label has come."""
        bounds = learner.state.interval_bounds()
        return cls(decisions_of(learner, answers), error, answers.size, answers.spent, answers.left, bounds)

    def values(self) -> dict[str, Any]:
        """Return everything as values that can be encoded."""
        arrays = {field.name: getattr(self.decisions, field.name) for field in fields(Decisions)}
        arrays |= {"size": self.size, "spent": self.spent, "left": self.left}
        packed = {name: pack_array(array) for name, array in arrays.items() if array is not None}
        clipped = {} if self.bounds is None else {"bounds": self.bounds}
        return {"decided": packed, "error": self.error} | clipped

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Decided:
        """Return what had these values."""
        arrays = {name: unpack_array(packed) for name, packed in values["decided"].items()}
        size, spent, left = (arrays.pop(name, None) for name in ("size", "spent", "left"))
        decisions = Decisions(**{"said": None, **arrays})  # type: ignore[arg-type]
        return cls(decisions, values["error"], size, cast(Any, spent), left, values.get("bounds"))

    def said(self, model: Model, ids: Sequence[str], places: Any = slice(None)) -> list[Said]:
        """Return the answers about the examples at some places, by default all of them."""
        found, optional = self.decisions, (self.size, self.left)
        query, uncertainty, probability = (
            column[places] for column in (found.query, found.uncertainty, found.probability)
        )
        size, left = (None if column is None else column[places] for column in optional)
        prediction = found.prediction[places]
        none = [None] * len(ids)
        why = reasons(model, Cases(query, uncertainty, probability, size, self.spent[places], left))
        columns = (column.tolist() for column in (uncertainty, probability, query))
        shown = model.decode_predictions(prediction).tolist()
        return list(map(Said, ids, shown, self._intervals(model, prediction) or none, *columns, why))

    def _intervals(self, model: Model, prediction: Floats) -> list[tuple[float, float]] | None:
        if model.classifies or (math.isinf(self.error) and model.given_range is None):
            return None
        low, high = intervals.ends(prediction, self.error, model, self.bounds)
        return list(zip(low.tolist(), high.tolist(), strict=True))


def pack_array(array: np.ndarray[Any, Any]) -> list[Any]:
    """Return an array as values that can be encoded."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return [little.dtype.str, list(little.shape), little.tobytes()]


def unpack_array(packed: list[Any]) -> np.ndarray[Any, Any]:
    """Return what was packed, to be written to."""
    kind, shape, content = packed
    return np.frombuffer(content, dtype=kind).reshape(shape).copy()
