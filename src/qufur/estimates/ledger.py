"""Ledger of decisions and their losses, which feeds the loss estimate."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.estimates.intervals import Errors
from qufur.estimates.loss import LossEstimate
from qufur.estimates.shifts import ShiftSignal
from qufur.models.base import Model
from qufur.pending import Pending, decisions

ROWS = 1024
"""Examples added to the estimate in one batch; adding them one by one would be slow."""

_NUMBERS = ("examples", "answered", "retracted", "beyond", "uncertainty", "loss_seen", "probability")


class MeanLoss(NamedTuple):
    """Mean loss over the covered examples (NaN until one is labelled), its interval, and their share.

    The ends of the interval are NaN while the label range is unknown, that is while all labels are equal.
    """

    value: float
    interval: tuple[float, float]
    covered: float = 0.0


class Ledger:
    """Record of each example from its decision to its loss, for the estimate of the loss over all examples.

    A loss uses the prediction made when the example arrived, whenever its label arrives.

    Attributes
    ----------
    examples, answered, retracted
        Number of decided examples, and of answered and retracted queries.
    beyond
        Number of labels so far outside the label range that their loss is capped at the largest loss.
    uncertainty, probability, loss_seen
        Sums of Δ and of the probabilities over all examples, and of the observed losses.
    shifts
        Detector of new domains.
    errors
        Errors of the last labels, for prediction intervals; empty for classifiers.
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
        """Set the expected query probability; an estimate that has started is unchanged."""
        self._typical_probability = typical_probability

    def _begin(self, loss_scale: float) -> None:
        self._estimate = LossEstimate(loss_scale, typical_probability=self._typical_probability)

    def mean_probability(self, probability: Floats) -> Floats:
        """Return the running mean probability up to each of the examples that are recorded next."""
        # Summed one by one, so that it does not depend on block boundaries.
        sums = np.add.accumulate(np.append(self.probability, probability))[1:]
        return np.asarray(sums / np.arange(self.examples + 1, self.examples + 1 + len(sums)))

    def record(self, uncertainty: Floats, probability: Floats, query: Bools, largest_loss: Floats) -> None:
        """Record decided examples, in stream order."""
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
            self._add_unqueried(self._estimate, rows)

    def record_one(self, uncertainty: float, probability: float, query: bool, largest_loss: float) -> None:
        """Record one example: the scalar version of `record`."""
        self.examples += 1
        self.uncertainty += uncertainty
        self.probability += probability
        self.shifts.update(uncertainty)
        if self._estimate is None and largest_loss > 0:
            self._begin(largest_loss)
        if not query:
            for rows in self._passed.write_one((largest_loss, probability)):
                self._add_unqueried(self._estimate, rows)

    def tell(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Record the labels of outstanding queries."""
        if len(queries) == 1:
            query = queries[0]
            self.answer_one(query.prediction, query.probability, query.largest_loss, labels.item())
        elif queries:
            prediction, probability, largest_loss = decisions(queries).T
            self.answer(prediction, probability, largest_loss, labels)

    def answer(self, prediction: Floats, probability: Floats, largest_loss: Floats, labels: Floats) -> None:
        """Record labels, evaluated against the predictions made at query time."""
        if len(labels) == 1:
            self.answer_one(prediction.item(), probability.item(), largest_loss.item(), labels.item())
            return
        loss = self._count(prediction, probability, largest_loss, labels)
        for rows in self._seen.write(largest_loss, probability, np.minimum(loss, largest_loss)):
            self._add_answered(self._estimate, rows)

    def answer_one(self, prediction: float, probability: float, largest_loss: float, label: float) -> None:
        """Record one label: the scalar version of `answer`."""
        loss = self._model.loss_one(prediction, label)
        self.answered += 1
        self.beyond += 0 < largest_loss < loss
        self.loss_seen += loss
        if not self._model.label_codec.classifies:
            self.errors.add_one(abs(prediction - label), probability)
        for rows in self._seen.write_one((largest_loss, probability, min(loss, largest_loss))):
            self._add_answered(self._estimate, rows)

    def _count(self, prediction: Floats, probability: Floats, largest_loss: Floats, labels: Floats) -> Floats:
        """Update all sums except the estimate with these labels, and return their losses."""
        loss = self._model.loss(prediction, labels)
        self.answered += len(labels)
        self.beyond += int(np.count_nonzero((loss > largest_loss) & (largest_loss > 0)))
        self.loss_seen = _added(self.loss_seen, loss)
        if not self._model.label_codec.classifies:
            self.errors.add(abs(prediction - labels), probability)
        return loss

    def correct(self, answered: Floats, labels: Floats) -> None:
        """Replace the labels of all answered queries and recompute the sums of losses.

        Parameters
        ----------
        answered
            Current label, prediction, probability and largest loss of each query, as rows.
        labels
            The new labels.
        """
        old, prediction, probability, largest_loss = answered.T
        before, after = (self._model.loss(prediction, y) for y in (old, labels))
        bounded = largest_loss > 0
        self.beyond, self.loss_seen = int((after > largest_loss)[bounded].sum()), float(after.sum())
        self.errors = Errors()
        if not self._model.label_codec.classifies:
            self.errors.add(abs(prediction - labels), probability)
        rows = (old != labels) & bounded
        if self._estimate is not None and rows.any():
            bound = largest_loss[rows]
            # Both are bounded for all labels: no large number is added and then subtracted.
            wrong, right = (np.minimum(loss[rows], bound) for loss in (before, after))
            self._estimate.replace(probability[rows], wrong, right, bound)

    def forget(self, gone: Floats, kept: Floats) -> None:
        """Remove labels that were wrong and whose correct values will never arrive.

        Parameters
        ----------
        gone, kept
            The removed labels, and all others, as rows like those of `correct`.
        """
        old, prediction, probability, largest_loss = gone.T
        if self._estimate is not None:
            loss = self._model.loss(prediction, old)
            self._estimate.forget(*_bounded(probability, loss, largest_loss))
        self.answered, self.retracted = self.answered - len(gone), self.retracted + len(gone)
        self.correct(kept, kept[:, 0])

    def recall(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Record the labels of queries that `forget` or `retract` had closed without one."""
        prediction, probability, largest_loss = decisions(queries).T
        loss = self._count(prediction, probability, largest_loss, labels)
        self.retracted -= len(labels)
        if self._estimate is not None:  # it counts queries without a bound as unqueried
            self._estimate.recall(*_bounded(probability, loss, largest_loss))

    def retract(self, query: Pending) -> None:
        """Record that a label will never arrive."""
        self.retracted += 1
        if self._estimate is None:
            pass
        elif query.largest_loss > 0:
            self._estimate.forgo([query.probability], [query.largest_loss])
        else:
            self._estimate.passed(np.zeros(1), np.zeros(1))

    def estimate(self) -> LossEstimate | None:
        """Return the loss estimate including buffered examples; None while the label range is unknown."""
        if self._estimate is None:
            return None
        estimate = LossEstimate.from_state(self._estimate.state())
        self._add_unqueried(estimate, self._passed.rows)
        self._add_answered(estimate, self._seen.rows)
        return estimate

    def mean_loss(self, outstanding: Collection[Pending]) -> MeanLoss:
        """Return the mean loss and its interval; the losses of outstanding queries count as unknown."""
        estimate = self.estimate()
        if estimate is None:
            return MeanLoss(math.nan, (math.nan, math.nan))
        _, probability, largest_loss = decisions([query for query in outstanding if query.largest_loss > 0]).T
        low, high = estimate.interval(probability, largest_loss)
        # With a learned range, examples predicted before the first labels are not covered. If no loss is
        # positive, no covered example has a label yet, although others may.
        is_known = self.answered and (self._model.loss_scale is not None or estimate.value > 0)
        value = min(max(estimate.value, low), high) if is_known else math.nan
        return MeanLoss(value, (low, high), estimate.covered)

    def likely_error(self, level: float) -> float:
        """Return the half-width r of the prediction interval at this level."""
        return self.errors.quantiles(level, self.probability / max(1, self.examples)).item()

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS}
        # Before the label range is known, a placeholder is stored; its scale does not matter.
        estimate = self._estimate or LossEstimate(1.0, typical_probability=self._typical_probability)
        begun = int(self._estimate is not None)
        values |= {"estimate": estimate.state(), "shifts": self.shifts.state(), "begun": begun}
        return values, {"passed": self._passed.rows, "seen": self._seen.rows, "errors": self.errors.rows}

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Restore the state from the result of `save`."""
        for name in _NUMBERS:
            setattr(self, name, values[name])
        self._estimate = LossEstimate.from_state(values["estimate"]) if values["begun"] else None
        self.shifts = ShiftSignal.from_state(values["shifts"])
        self._passed.rows, self._seen.rows = arrays["passed"], arrays["seen"]
        # "errors" is missing in files written by older versions.
        self.errors.rows = arrays.get("errors", np.empty((0, 2)))

    def _add_unqueried(self, estimate: LossEstimate | None, rows: Floats) -> None:
        """Add unqueried examples; without a bound an example counts as not covered."""
        if estimate is not None:
            largest_loss, probability = rows.T
            estimate.passed(np.where(largest_loss > 0, probability, 0.0), largest_loss)

    def _add_answered(self, estimate: LossEstimate | None, rows: Floats) -> None:
        if estimate is not None:
            largest_loss, probability, loss = rows.T
            columns = _bounded(probability, loss, largest_loss)
            estimate.saw(*columns)
            without_bound = np.zeros(len(rows) - len(columns[0]))
            estimate.passed(without_bound, without_bound)


def _added(total: float, parts: Floats) -> float:
    """Return the total after adding parts one by one, so that rounding does not depend on blocks."""
    return float(np.add.accumulate(np.append(total, parts))[-1])


def _bounded(probability: Floats, loss: Floats, largest_loss: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the same columns for the queries with a known bound, which caps their losses."""
    rows = largest_loss > 0
    return probability[rows], np.minimum(loss[rows], largest_loss[rows]), largest_loss[rows]


class Buffer:
    """Buffer that releases rows in batches of `ROWS`, so that rounding does not depend on blocks."""

    def __init__(self, width: int) -> None:
        self._rows = np.empty((0, width))
        # Rows after those of the array: appending one to a list is faster than writing it to an array.
        self._single: list[Sequence[float]] = []

    @property
    def rows(self) -> Floats:
        """The buffered rows."""
        single = np.array(self._single, dtype=np.float64).reshape(-1, self._rows.shape[1])
        return np.concatenate([self._rows, single])

    @rows.setter
    def rows(self, rows: Floats) -> None:
        self._rows = rows
        self._single.clear()

    def write_one(self, row: Sequence[float]) -> Iterable[Floats]:
        """Add one row; return the full batches, of which there is at most one."""
        self._single.append(row)
        return self._released(self.rows) if len(self._rows) + len(self._single) == ROWS else ()

    def write(self, *columns: Floats) -> Iterable[Floats]:
        """Add rows, and return the full batches."""
        return self._released(np.concatenate([self.rows, np.array(columns).T]))

    def _released(self, rows: Floats) -> Iterable[Floats]:
        """Return the full batches of these rows, and store the others."""
        end = len(rows) - len(rows) % ROWS
        self.rows = rows[end:]
        return rows[:end].reshape(-1, ROWS, rows.shape[1])
