"""What became of every decision: the losses that are known, and those that never will be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.estimates.loss import LossEstimate
from qufur.estimates.query import Query, decisions
from qufur.estimates.shifts import ShiftSignal
from qufur.models.base import Model

ROWS = 1024
"""Examples that are taken in together, or when somebody asks for the estimate: one by one would be dear."""

_NUMBERS = ("examples", "answered", "retracted", "beyond", "uncertainty", "loss_seen")


class Ledger:
    """Follows each example from its decision to its loss, for the loss over all examples.

    Predictions count as they were when the example came, whenever its label comes.

    Attributes
    ----------
    examples, answered, retracted
        How many examples were decided, and how many queries were answered or taken back.
    beyond
        Labels so far outside the label range that their loss counts as the largest one in range.
    uncertainty, loss_seen
        Sums: of Δ over all examples, and of the losses that were seen.
    shifts
        The signal of new domains.
    """

    def __init__(self, model: Model, typical_probability: float) -> None:
        self._model = model
        self._estimate = LossEstimate(model.loss_scale, typical_probability=typical_probability)
        self.examples = self.answered = self.retracted = self.beyond = 0
        self.uncertainty = self.loss_seen = 0.0
        self.shifts = ShiftSignal()
        self._passed = Buffer(2)
        self._seen = Buffer(3)

    def record(self, prediction: Floats, uncertainty: Floats, probability: Floats, query: Bools) -> None:
        """Take note of examples that were decided, in the order of the stream."""
        self.examples += len(query)
        self.uncertainty += float(uncertainty.sum())
        self.shifts.update(uncertainty.item() if len(uncertainty) == 1 else uncertainty)
        passed = ~query
        for rows in self._passed.write(prediction[passed], probability[passed]):
            self._take_in_passed(self._estimate, rows)

    def record_one(self, prediction: float, uncertainty: float, probability: float, query: bool) -> None:
        """Take note of one example, as `record` does of many."""
        self.examples += 1
        self.uncertainty += uncertainty
        self.shifts.update(uncertainty)
        if not query and self._passed.write_one((prediction, probability)):
            self._take_in_passed(self._estimate, self._passed.taken())

    def answer(self, prediction: Floats, probability: Floats, labels: Floats) -> None:
        """Take note of labels, by what was said when they were asked for."""
        if len(labels) == 1:
            self.answer_one(prediction.item(), probability.item(), labels.item())
            return
        loss, most = self._model.loss(prediction, labels), self._model.largest_loss(prediction)
        self.answered += len(labels)
        self.beyond += int((loss > most).sum())
        self.loss_seen += float(loss.sum())
        for rows in self._seen.write(prediction, probability, np.minimum(loss, most)):
            self._take_in_seen(self._estimate, rows)

    def answer_one(self, prediction: float, probability: float, label: float) -> None:
        """Take note of one label, as `answer` does of many."""
        loss, most = self._model.loss_one(prediction, label)
        self.answered += 1
        self.beyond += loss > most
        self.loss_seen += loss
        if self._seen.write_one((prediction, probability, loss if loss < most else most)):
            self._take_in_seen(self._estimate, self._seen.taken())

    def tell(self, queries: Sequence[Query], labels: Floats) -> None:
        """Take note of the labels of outstanding queries."""
        if len(queries) == 1:
            self.answer_one(queries[0].prediction, queries[0].probability, labels.item())
        elif queries:
            prediction, probability = decisions(queries).T
            self.answer(prediction, probability, labels)

    def correct(self, prediction: Floats, probability: Floats, old: Floats, new: Floats) -> None:
        """Take note that the labels of all answered queries were others; sums of losses are taken anew."""
        most = self._model.largest_loss(prediction)
        before, after = (self._model.loss(prediction, labels) for labels in (old, new))
        self.beyond, self.loss_seen = int((after > most).sum()), float(after.sum())
        rows = old != new
        # These are bounded whatever the labels were: nothing large is added and taken off again.
        wrong, right = (np.minimum(loss, most)[rows] for loss in (before, after))
        self._estimate.replace(probability[rows], wrong, right, most[rows])

    def retract(self, query: Query) -> None:
        """Take note that a label will never come."""
        self.retracted += 1
        self._estimate.forgo([query.probability], self._model.largest_loss(np.array([query.prediction])))

    def estimate(self) -> LossEstimate:
        """Return the estimate of the loss, the latest examples included."""
        estimate = LossEstimate.from_state(self._estimate.state())
        self._take_in_passed(estimate, self._passed.rows)
        self._take_in_seen(estimate, self._seen.rows)
        return estimate

    def interval(self, outstanding: Collection[Query]) -> tuple[float, float]:
        """Return the ends of the estimate's interval; what is outstanding may turn out to be anything."""
        prediction, probability = decisions(outstanding).T
        return self.estimate().interval(probability, self._model.largest_loss(prediction))

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return everything as values for JSON and named arrays."""
        values = {name: getattr(self, name) for name in _NUMBERS}
        parts = {"estimate": self._estimate.state(), "shifts": self.shifts.state()}
        return values | parts, {"passed": self._passed.rows, "seen": self._seen.rows}

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `save` returned."""
        for name in _NUMBERS:
            setattr(self, name, values[name])
        self._estimate = LossEstimate.from_state(values["estimate"])
        self.shifts = ShiftSignal.from_state(values["shifts"])
        self._passed.rows, self._seen.rows = arrays["passed"], arrays["seen"]

    def _take_in_passed(self, estimate: LossEstimate, rows: Floats) -> None:
        prediction, probability = rows.T
        estimate.passed(probability, self._model.largest_loss(prediction))

    def _take_in_seen(self, estimate: LossEstimate, rows: Floats) -> None:
        prediction, probability, loss = rows.T
        estimate.saw(probability, loss, self._model.largest_loss(prediction))


class Buffer:
    """Rows that wait until `ROWS` of them are there, wherever blocks end: then no bit depends on blocks."""

    def __init__(self, width: int) -> None:
        self._rows = np.empty((ROWS, width))
        self._count = 0
        self._single: list[Sequence[float]] = []  # rows after these: a list takes one faster than an array

    @property
    def rows(self) -> Floats:
        """The rows that wait."""
        single = np.array(self._single, dtype=np.float64).reshape(-1, self._rows.shape[1])
        return np.concatenate([self._rows[: self._count], single])

    @rows.setter
    def rows(self, rows: Floats) -> None:
        self._count = len(rows)
        self._rows[: self._count] = rows
        self._single.clear()

    def write_one(self, row: Sequence[float]) -> bool:
        """Add one row; return whether there are enough."""
        self._single.append(row)
        return self._count + len(self._single) == ROWS

    def taken(self) -> Floats:
        """Return the rows that waited, to be used at once."""
        self._settle()
        self._count = 0
        return self._rows

    def write(self, *columns: Floats) -> Iterator[Floats]:
        """Add rows; yield those that waited whenever there are enough, to be used at once."""
        start, end = 0, len(columns[0])
        self._settle()
        while start < end:
            part = slice(start, start + ROWS - self._count)
            count = min(end, part.stop) - start
            for place, column in zip(self._rows[self._count : self._count + count].T, columns, strict=True):
                place[:] = column[part]
            start, self._count = start + count, self._count + count
            if self._count == ROWS:
                yield self.taken()

    def _settle(self) -> None:
        if self._single:
            end = self._count + len(self._single)
            self._rows[self._count : end] = self._single
            self._count = end
            self._single.clear()
