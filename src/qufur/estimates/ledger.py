"""What became of every decision: the losses that are known, and those that never will be."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.estimates.intervals import Errors
from qufur.estimates.loss import LossEstimate
from qufur.estimates.query import Query, decisions
from qufur.estimates.shifts import ShiftSignal
from qufur.models.base import Model

ROWS = 1024
"""Examples that are taken in together, or when somebody asks for the estimate: one by one would be dear."""

_NUMBERS = ("examples", "answered", "retracted", "beyond", "uncertainty", "loss_seen", "probability")


class MeanLoss(NamedTuple):
    """The mean loss over the covered examples, NaN before the first label; its interval; their share.

    The ends of the interval are NaN while labels have no range, as long as all of them are equal.
    """

    value: float
    interval: tuple[float, float]
    covered: float = 0.0


class Ledger:
    """Follows each example from its decision to its loss, for the loss over all examples.

    Predictions count as they were when the example came, whenever its label comes.

    Attributes
    ----------
    examples, answered, retracted
        How many examples were decided, and how many queries were answered or taken back.
    beyond
        Labels so far outside the label range that their loss counts as the largest one in range.
    uncertainty, probability, loss_seen
        Sums: of Δ and of the probabilities over all examples, and of the losses that were seen.
    shifts
        The signal of new domains.
    errors
        Those of the last labels, for prediction intervals; none for classes.
    """

    def __init__(self, model: Model, typical_probability: float) -> None:
        self._model = model
        self._typical_probability = typical_probability
        self._estimate: LossEstimate | None = None
        self.examples = self.answered = self.retracted = self.beyond = 0
        self.uncertainty = self.loss_seen = self.probability = 0.0
        self.shifts = ShiftSignal()
        self.errors = Errors()
        self._passed = Buffer(2)
        self._seen = Buffer(3)
        if model.loss_scale is not None:
            self._begin(model.loss_scale)

    def expect(self, typical_probability: float) -> None:
        """Let most probabilities be about this from now on; an estimate that has begun stays as it is."""
        self._typical_probability = typical_probability

    def _begin(self, loss_scale: float) -> None:
        self._estimate = LossEstimate(loss_scale, typical_probability=self._typical_probability)

    def mean_probability(self, probability: Floats) -> Floats:
        """Return the mean probability of all examples, up to each of some that are recorded next."""
        # Summed one by one, so that it does not depend on blocks.
        sums = np.add.accumulate(np.append(self.probability, probability))[1:]
        return np.asarray(sums / np.arange(self.examples + 1, self.examples + 1 + len(sums)))

    def record(self, uncertainty: Floats, probability: Floats, query: Bools, largest_loss: Floats) -> None:
        """Take note of examples that were decided, in the order of the stream."""
        if len(query) == 1:
            self.record_one(uncertainty.item(), probability.item(), query.item(), largest_loss.item())
            return
        self.examples += len(query)
        self.uncertainty = _added(self.uncertainty, uncertainty)
        self.probability = _added(self.probability, probability)
        self.shifts.update(uncertainty)
        if self._estimate is None and largest_loss.any():
            self._begin(float(largest_loss[largest_loss > 0][0]))
        passed = ~query
        for rows in self._passed.write(largest_loss[passed], probability[passed]):
            self._take_in_passed(self._estimate, rows)

    def record_one(self, uncertainty: float, probability: float, query: bool, largest_loss: float) -> None:
        """Take note of one example, as `record` does of many."""
        self.examples += 1
        self.uncertainty += uncertainty
        self.probability += probability
        self.shifts.update(uncertainty)
        if self._estimate is None and largest_loss > 0:
            self._begin(largest_loss)
        if not query and self._passed.write_one((largest_loss, probability)):
            self._take_in_passed(self._estimate, self._passed.taken())

    def answer(self, prediction: Floats, probability: Floats, largest_loss: Floats, labels: Floats) -> None:
        """Take note of labels, by what was said when they were asked for."""
        if len(labels) == 1:
            self.answer_one(prediction.item(), probability.item(), largest_loss.item(), labels.item())
            return
        loss = self._count(prediction, probability, largest_loss, labels)
        for rows in self._seen.write(largest_loss, probability, np.minimum(loss, largest_loss)):
            self._take_in_seen(self._estimate, rows)

    def _count(self, prediction: Floats, probability: Floats, largest_loss: Floats, labels: Floats) -> Floats:
        """Update all sums but the estimate with these labels, and return their losses."""
        loss = self._model.loss(prediction, labels)
        self.answered += len(labels)
        self.beyond += int(np.count_nonzero((loss > largest_loss) & (largest_loss > 0)))
        self.loss_seen = _added(self.loss_seen, loss)
        if not self._model.classifies:
            self.errors.add(abs(prediction - labels), probability)
        return loss

    def answer_one(self, prediction: float, probability: float, largest_loss: float, label: float) -> None:
        """Take note of one label, as `answer` does of many."""
        loss = self._model.loss_one(prediction, label)
        self.answered += 1
        self.beyond += 0 < largest_loss < loss
        self.loss_seen += loss
        if not self._model.classifies:
            self.errors.add_one(abs(prediction - label), probability)
        if self._seen.write_one((largest_loss, probability, min(loss, largest_loss))):
            self._take_in_seen(self._estimate, self._seen.taken())

    def tell(self, queries: Sequence[Query], labels: Floats) -> None:
        """Take note of the labels of outstanding queries."""
        if len(queries) == 1:
            self.answer_one(*queries[0][:3], labels.item())
        elif queries:
            prediction, probability, largest_loss = decisions(queries).T
            self.answer(prediction, probability, largest_loss, labels)

    def correct(
        self, prediction: Floats, probability: Floats, largest_loss: Floats, old: Floats, new: Floats
    ) -> None:
        """Take note that the labels of all answered queries were others; sums of losses are taken anew."""
        before, after = (self._model.loss(prediction, labels) for labels in (old, new))
        known = largest_loss > 0
        self.beyond, self.loss_seen = int((after > largest_loss)[known].sum()), float(after.sum())
        self.errors = Errors()
        if not self._model.classifies:
            self.errors.add(abs(prediction - new), probability)
        rows = (old != new) & known
        if self._estimate is None or not rows.any():
            return
        most = largest_loss[rows]
        # These are bounded whatever the labels were: nothing large is added and taken off again.
        wrong, right = (np.minimum(loss[rows], most) for loss in (before, after))
        self._estimate.replace(probability[rows], wrong, right, most)

    def forget(self, gone: Floats, kept: Floats) -> None:
        """Take note that labels were wrong and the right ones will never come.

        Parameters
        ----------
        gone, kept
            Label, prediction, probability and largest loss of these, and of all others that came, as rows.
        """
        old, prediction, probability, largest_loss = gone.T
        loss, known = self._model.loss(prediction, old), largest_loss > 0
        if self._estimate is not None and known.any():
            most = largest_loss[known]
            self._estimate.forget(probability[known], np.minimum(loss[known], most), most)
        self.answered, self.retracted = self.answered - len(gone), self.retracted + len(gone)
        labels, prediction, probability, largest_loss = kept.T
        self.correct(prediction, probability, largest_loss, labels, labels)

    def recall(self, prediction: Floats, probability: Floats, largest_loss: Floats, labels: Floats) -> None:
        """Record the labels of queries that `forget` or `retract` had closed without one."""
        loss = self._count(prediction, probability, largest_loss, labels)
        self.retracted -= len(labels)
        known = largest_loss > 0  # the estimate counts the others as passed over, with a label or without
        if self._estimate is not None and known.any():
            most = largest_loss[known]
            self._estimate.recall(probability[known], np.minimum(loss[known], most), most)

    def retract(self, query: Query) -> None:
        """Take note that a label will never come."""
        self.retracted += 1
        if self._estimate is None:
            pass
        elif query.largest_loss > 0:
            self._estimate.forgo([query.probability], [query.largest_loss])
        else:
            self._estimate.passed(np.zeros(1), np.zeros(1))

    def estimate(self) -> LossEstimate | None:
        """Return the estimate of the loss, the latest examples included; None while labels have no range."""
        if self._estimate is None:
            return None
        estimate = LossEstimate.from_state(self._estimate.state())
        self._take_in_passed(estimate, self._passed.rows)
        self._take_in_seen(estimate, self._seen.rows)
        return estimate

    def mean_loss(self, outstanding: Collection[Query]) -> MeanLoss:
        """Return what is known of the mean loss; what is outstanding may turn out to be anything."""
        estimate = self.estimate()
        if estimate is None:
            return MeanLoss(math.nan, (math.nan, math.nan))
        _, probability, largest_loss = decisions([query for query in outstanding if query.largest_loss > 0]).T
        low, high = estimate.interval(probability, largest_loss)
        value = min(max(estimate.value, low), high) if self.answered else math.nan
        return MeanLoss(value, (low, high), estimate.covered)

    def likely_error(self, level: float) -> float:
        """Return r: errors are at most that, at this level."""
        return self.errors.quantiles(level, self.probability / max(1, self.examples)).item()

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return everything as values for JSON and named arrays."""
        values = {name: getattr(self, name) for name in _NUMBERS}
        # Before the range of labels is known, an estimate of no matter which scale stands for none.
        estimate = self._estimate or LossEstimate(1.0, typical_probability=self._typical_probability)
        begun = int(self._estimate is not None)
        parts = {"estimate": estimate.state(), "shifts": self.shifts.state(), "begun": begun}
        rows = {"passed": self._passed.rows, "seen": self._seen.rows, "errors": self.errors.rows}
        return values | parts, rows

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `save` returned."""
        for name in _NUMBERS:
            setattr(self, name, values[name])
        self._estimate = LossEstimate.from_state(values["estimate"]) if values["begun"] else None
        self.shifts = ShiftSignal.from_state(values["shifts"])
        self._passed.rows, self._seen.rows = arrays["passed"], arrays["seen"]
        self.errors.rows = arrays.get("errors", np.empty((0, 2)))  # files of before have none

    def _take_in_passed(self, estimate: LossEstimate | None, rows: Floats) -> None:
        """Take in examples; what had no bound had no chance either, as far as the estimate goes."""
        if estimate is not None:
            largest_loss, probability = rows.T
            estimate.passed(np.where(largest_loss > 0, probability, 0.0), largest_loss)

    def _take_in_seen(self, estimate: LossEstimate | None, rows: Floats) -> None:
        if estimate is not None:
            known = rows[:, 0] > 0
            largest_loss, probability, loss = rows[known].T
            estimate.saw(probability, loss, largest_loss)
            if not known.all():
                estimate.passed(np.zeros(len(rows) - len(loss)), np.zeros(len(rows) - len(loss)))


def _added(total: float, parts: Floats) -> float:
    """Return the total with parts added one by one, so that no bit depends on blocks."""
    return float(np.add.accumulate(np.append(total, parts))[-1])


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
