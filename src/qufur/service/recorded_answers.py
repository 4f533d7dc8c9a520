"""Answers in the event log: encoded in event headers, and looked up together with their examples."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import repeat
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from qufur.answer import Answers, reasons
from qufur.arrays import Floats
from qufur.estimates import intervals
from qufur.learner import Learner
from qufur.models.base import Model
from qufur.models.capabilities import interval_bounds
from qufur.replay import RecordedDecisions, record_decisions
from qufur.service.store import Store
from qufur.service.store.events import Event, Kind, Payload, decode

EXPERT_OUTPUTS = "said"
"""Key of the experts' outputs in events and snapshots."""
LEVEL = 0.9
"""Nominal coverage of the intervals of answers."""
_decode_id = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw]).decode


class AnswerBody(msgspec.Struct, gc=False):
    """Answer for one example, as sent to the client."""

    id: str
    prediction: float | str
    interval: tuple[float, float] | None
    uncertainty: float
    probability: float
    query: bool
    why: str


class RecordedAnswers(NamedTuple):
    """Decisions about consecutive examples, with the numbers that their answers need.

    Attributes
    ----------
    decisions
        Decisions as replay applies them.
    error
        Half of the width of intervals; ∞ if it is unknown.
    size, spent, left
        Numbers of each example that the reasons of answers mention; None if the model or rule has none.
    bounds
        Bounds that clip the intervals; None if there are none, as in logs of version 0.1.0.
    """

    decisions: RecordedDecisions
    error: float
    size: Floats | None
    spent: np.ndarray[Any, Any]
    left: np.ndarray[Any, Any] | None
    bounds: tuple[float, float] | None = None

    @classmethod
    def of(cls, learner: Learner, answers: Answers, error: float) -> RecordedAnswers:
        """Record answers whose labels are all still pending."""
        bounds = interval_bounds(learner.state)
        return cls(
            record_decisions(learner, answers), error, answers.size, answers.spent, answers.left, bounds
        )

    def values(self) -> dict[str, Any]:
        """Return the header values of an event."""
        arrays = {field.name: getattr(self.decisions, field.name) for field in fields(RecordedDecisions)}
        arrays[EXPERT_OUTPUTS] = arrays.pop("expert_outputs")
        arrays |= {"size": self.size, "spent": self.spent, "left": self.left}
        packed = {name: pack_array(array) for name, array in arrays.items() if array is not None}
        clipped = {} if self.bounds is None else {"bounds": self.bounds}
        return {"decided": packed, "error": self.error} | clipped

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> RecordedAnswers:
        """Read the header values of an event."""
        arrays: dict[str, Any] = {name: unpack_array(packed) for name, packed in values["decided"].items()}
        size, spent, left = (arrays.pop(name, None) for name in ("size", "spent", "left"))
        arrays["expert_outputs"] = arrays.pop(EXPERT_OUTPUTS, None)
        decisions = RecordedDecisions(**arrays)
        return cls(decisions, values["error"], size, cast(Any, spent), left, values.get("bounds"))

    def answers(self, model: Model, ids: Sequence[str], index: Any = slice(None)) -> list[AnswerBody]:
        """Return the answers for the examples at these indices, by default all."""
        decided = self.decisions
        columns = decided.query, decided.uncertainty, decided.probability, self.size, self.spent, self.left
        selected: list[Any] = [None if column is None else column[index] for column in columns]
        query, uncertainty, probability = (column.tolist() for column in selected[:3])
        prediction = decided.prediction[index]
        decoded = model.label_codec.decode(prediction).tolist()
        parts = decoded, self._intervals(model, prediction), uncertainty, probability, query
        return list(map(AnswerBody, ids, *parts, reasons(model, *selected)))

    def _intervals(self, model: Model, prediction: Floats) -> Iterable[tuple[float, float] | None]:
        if model.label_codec.classifies or (math.isinf(self.error) and model.label_codec.bounds is None):
            return repeat(None)
        low, high = intervals.ends(prediction, self.error, model, self.bounds)
        return zip(low.tolist(), high.tolist(), strict=True)


def pack_array(array: np.ndarray[Any, Any]) -> list[Any]:
    """Return dtype, shape and bytes of an array, for msgpack."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return [little.dtype.str, list(little.shape), little.tobytes()]


def unpack_array(packed: list[Any]) -> np.ndarray[Any, Any]:
    """Return a writable array from the output of `pack_array`."""
    dtype, shape, content = packed
    return np.frombuffer(content, dtype=dtype).reshape(shape).copy()


class StoredExample(NamedTuple):
    """Example as stored in its event.

    Attributes
    ----------
    part
        The encoded id and row.
    answer
        The answer; None for an example that arrived with its label or with a state file.
    """

    part: bytes
    answer: AnswerBody | None

    @property
    def row(self) -> Any:
        """The row as received: bytes of numbers, or a record."""
        return decode(self.part)[1]


def look_up(store: Store, stream: int, ids: Collection[str], model: Model) -> dict[str, StoredExample]:
    """Return examples by id, without unknown and erased ones.

    The digest of an event covers all its parts, so each event with requested rows is hashed completely, once.
    `StoredExample.row` decodes the row of one example.
    """
    seqs = store.find(stream, list(ids))
    examples: dict[str, StoredExample] = {}
    for event in store.events_at(stream, sorted(set(seqs.values()))):
        examples |= _examples_in(event, seqs, model)
    return examples


def examples_of(event: Event, payload: Payload) -> Iterator[tuple[int, str, bytes]]:
    """Yield index, id and encoded example of each part that holds one, without erased parts."""
    if event.kind not in (Kind.asked, Kind.learned, Kind.imported):
        return
    for index, part in enumerate(payload.parts):
        if isinstance(part, msgspec.msgpack.Ext) or (event.kind == Kind.imported and index == 0):
            continue  # the first part of an import is the state file
        example = decode(part)[0] if event.kind == Kind.learned else part
        yield index, _decode_id(example)[0], example


def _examples_in(event: Event, ids: Collection[str], model: Model) -> dict[str, StoredExample]:
    payload = event.checked_payload()
    examples = [(index, id, part) for index, id, part in examples_of(event, payload) if id in ids]
    values = payload.values
    answers: Sequence[AnswerBody | None] = [None] * len(examples)
    if "decided" in values and examples:
        indices, names = [index for index, *_ in examples], [id for _, id, _ in examples]
        answers = RecordedAnswers.from_values(values).answers(model, names, indices)
    return {id: StoredExample(part, answer) for (_, id, part), answer in zip(examples, answers, strict=True)}
