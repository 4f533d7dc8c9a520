"""State of an ensemble: inputs, labelled rows, experts and pending queries."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats, check_shapes, strip_prefix
from qufur.errors import invalid
from qufur.models import capabilities
from qufur.models.base import State
from qufur.models.diagnostics.outliers import ObservedRange
from qufur.models.ensemble.fits import FitJob, FitResult, FitSchedule
from qufur.models.ensemble.leverage import Leverage
from qufur.models.ensemble.lookahead import LeverageLookahead, MarginLookahead, margin_uncertainty
from qufur.models.ensemble.report import EnsembleReport
from qufur.models.ensemble.scaling import Scaling
from qufur.models.ensemble.training_set import FREE, LabelRange, TrainingSet
from qufur.models.lookahead import BlockLimits, Lookahead
from qufur.pending import Pending, PendingQueries, check_features, purchase_terms, widen_features

if TYPE_CHECKING:
    from qufur.models.ensemble.model import EnsembleModel


FIRST_BLOCK = 256
"""Rows of the first block with deferred fits, when no fit can end a block early."""
LEVERAGE, SCHEDULE, LABELLED, SCALING = "novelty", "board", "labelled", "scaling"
"""Prefixes of the saved arrays."""
ADDED_COLUMNS = "further"
"""Saved number of added columns."""
IN_EVERY_ROW = {"labelled.X", "scaling.part", "scaling.expected", "scaling.range"}
"""Saved arrays in which an added column has its constant in every row."""
IN_FIRST_ROW = {"scaling.units", "scaling.moments", "board.units"}
"""Saved arrays whose first row are means; the other rows, deviations and sums, are 0 for a constant."""


class EnsembleState(
    State,
    capabilities.FitsInBackground,
    capabilities.KeepsPurchases,
    capabilities.LearnsRange,
    capabilities.Probabilistic,
    capabilities.Relabels,
    capabilities.Replayable,
    capabilities.ReportsExperts,
):
    """State of an ensemble. Labels may arrive late, out of order, or never.

    Attributes
    ----------
    labelled
        Labelled rows.
    scaling
        Scaling of inputs, learned from all of them.
    leverage
        Δ of inputs, for models of numbers.
    labels
        Range of the labels.
    added_columns
        Number of columns added since the start.
    fits_elsewhere
        Whether fits are left to the caller of `next_fit`.
    """

    model: EnsembleModel

    def __init__(self, model: EnsembleModel, pending: PendingQueries | None = None) -> None:
        super().__init__(model, pending)
        self.labelled = TrainingSet()
        self.scaling = Scaling()
        self.leverage = Leverage(self.scaling, self._queried_rows)
        self.labels = LabelRange(model.label_range)
        self.added_columns = 0
        self.fits_elsewhere = False
        self._schedule: FitSchedule | None = None
        self._skips_predictions = False
        self._last: tuple[Floats, Floats, Floats] | None = None

    @property
    def schedule(self) -> FitSchedule:
        """Experts and their fits, created at the first input."""
        if self._schedule is None:
            self._schedule = FitSchedule(self.model, self.scaling.units, self.labelled, self.added_columns)
            if self.fits_elsewhere:
                self._schedule.fit_elsewhere(self.scaling.units)
        return self._schedule

    def block_limits(self, at_once: bool) -> BlockLimits:
        """Return the block limits. With deferred fits the first block is large.

        A call of all experts costs much, however few its rows are.
        """
        return BlockLimits(FIRST_BLOCK) if self.fits_elsewhere else super().block_limits(at_once)

    # Predictions

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.predictions(self.outputs(X))

    def outputs(self, X: Floats) -> Floats:
        """Return the ensemble's output for each row: a number, or a probability per class."""
        if not self.scaling.dim:
            return np.tile(self.model.prior_output(), (len(X), 1))
        return self.combine(self._bounded_predictions(X))

    def expert_predictions(self, X: Floats) -> Floats:
        """Return the unclipped output of each expert for each row: (rows, experts, outputs)."""
        if self._skips_predictions:
            return np.tile(self.model.prior_output(), (len(X), len(self.schedule.names), 1))
        return self.schedule.predict(X)

    def combine(self, expert_outputs: Floats) -> Floats:
        """Return the ensemble's output for rows of expert outputs: (rows, experts, outputs)."""
        outputs = self.schedule.aggregation.combine(expert_outputs)
        return self.labels.clip(outputs) if self.model.classes is None else outputs

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""
        return self.outputs(X)

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        label_free = self.model.tags.label_free
        return self.leverage.uncertainty(X) if label_free else margin_uncertainty(self.outputs(X))

    def frozen(self) -> State:
        """Return a copy for reads in another thread; it shares the fitted experts, which never change."""
        shared: list[Any] = [self.model, self.labelled]
        if self._schedule is not None:
            self._schedule.run_due_jobs()
            shared += self._schedule.shared_parts
        pending = {id(self.pending): dict(self.pending)}
        frozen = copy.deepcopy(self, pending | {id(part): part for part in shared})
        if self.model.tags.label_free and self.scaling.dim:
            _ = frozen.leverage.inputs  # built now: the rows may change later
        return frozen

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the next input of the stream; `square` is not used."""
        self.prepare(x[None])
        expert_outputs = self._bounded_predictions(x[None])
        output = self.combine(expert_outputs)
        self._last = x.copy(), expert_outputs, output
        if self.model.tags.label_free:
            z = self.scaling.units.transform(x)
            delta = self.leverage.inputs.predict_next(z, float(z.dot(z)))[1]
        else:
            delta = margin_uncertainty(output).item()
        return self.model.predictions(output).item(), delta

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest possible loss of a prediction; 0 if the range of labels is unknown."""
        return self.labels.largest_loss_one(prediction) if self.model.classes is None else 1.0

    def observed_range(self) -> ObservedRange | None:
        """Return the range of the labels so far; None with classes or a given range."""
        learns = self.model.classes is None and self.labels.given is None
        return ObservedRange(self.labels.low, self.labels.high, len(self.labelled)) if learns else None

    def interval_bounds(self) -> tuple[float, float] | None:
        """Return the bounds of prediction intervals; None if no range is learned."""
        return self.labels.bounds if self.model.classes is None else None

    def ensemble_report(self) -> EnsembleReport:
        """Return weights and losses of the experts."""
        return self.model.ensemble_report(self)

    # Queries, labels and fits

    def look_ahead(self, X: Floats, *, labels_may_arrive: bool = True) -> Lookahead:
        """Look ahead over the rows of X before the next update of the scaling.

        If Δ depends on labels and labels may arrive, the block ends at a queried row, and has one row while a
        query is pending.
        """
        if self.model.tags.label_free:
            return LeverageLookahead(self, X[: self.prepare(X)])
        rows = 1 if self.pending and labels_may_arrive else len(X)
        return MarginLookahead(self, X[: min(rows, self.prepare(X))], ends_with_query=labels_may_arrive)

    def prepare(self, X: Floats) -> int:
        """Update the scaling if it is due; return the number of rows before its next update."""
        ahead = self.scaling.ahead(X)
        if ahead:
            return ahead
        self.scaling.renew(X[0])
        self.leverage.invalidate()
        self.schedule.fit_if_stale(self.scaling.units)
        return max(1, self.scaling.ahead(X))

    @contextmanager
    def without_predictions(self) -> Iterator[None]:
        """Skip predictions, and the fits that they cause; replay supplies the recorded outputs."""
        self._skips_predictions = True
        try:
            yield
        finally:
            self._skips_predictions = False

    def query(self, queries: Sequence[Pending], X: Floats) -> None:
        """Record queries for the labels of these rows."""
        self.prepare(X)
        last = self._last
        if last is not None and np.array_equal(last[0][None], X):
            _, expert_outputs, outputs = last
        else:
            expert_outputs = self._bounded_predictions(X)
            outputs = self.combine(expert_outputs)
        if self.model.tags.label_free:
            self.leverage.add(X)
        for columns in zip(queries, X, expert_outputs, outputs, strict=True):
            self.record(*columns)

    def record(self, query: Pending, x: Floats, expert_outputs: Floats, output: Floats) -> None:
        """Fill in the fields of a query; arrays are copied, as they may be views of larger ones.

        Outputs that a log has recorded stay. In a log of other experts, each expert counts as having
        predicted what the ensemble predicted.
        """
        query.features, query.labels_seen = x.copy(), len(self.labelled)
        if query.expert_outputs is None:
            query.expert_outputs = np.vstack([expert_outputs, output])
        elif len(query.expert_outputs) != len(expert_outputs) + 1:
            query.expert_outputs = np.tile(query.expert_outputs[-1], (len(expert_outputs) + 1, 1))

    def label(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Learn the labels of recorded queries, in this order."""
        for query, label, terms in zip(queries, labels.tolist(), purchase_terms(queries), strict=True):
            self.schedule.update(query, label)
            self.labelled.add(cast(Floats, query.features), label, terms)
            self.schedule.fit_if_due(self.scaling.units)
        self.labels.update(labels)

    def retract(self, query: Pending) -> None:
        """Remove a recorded query."""
        self.leverage.invalidate()

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn free labels; their inputs update the scaling."""
        self._last = None
        start = 0
        while start < len(X):
            part = X[start : start + self.prepare(X[start:])]
            if self.model.tags.label_free:
                self.leverage.add(part)
            self.scaling.update(part)
            for row, label in zip(part, labels[start:].tolist(), strict=False):
                self.labelled.add(row, label, FREE)
            start += len(part)
        self._fit_to_more(labels)

    def learn_bought(self, queries: Sequence[Pending], X: Floats, labels: Floats) -> None:
        """Learn bought labels with their purchases; their inputs have updated the scaling before."""
        if self.model.tags.label_free:
            self.leverage.add(X)
        for row, label, terms in zip(X, labels.tolist(), purchase_terms(queries), strict=True):
            self.labelled.add(row, label, terms)
        self._fit_to_more(labels)

    def _fit_to_more(self, labels: Floats) -> None:
        """Fit experts after labels were added in one batch; several labels cause a fit of all experts."""
        self.labels.update(labels)
        if len(labels) > 1:
            self.schedule.fit_all(self.scaling.units)
        elif len(labels):
            self.schedule.fit_if_due(self.scaling.units)

    def purchases_at(self, indices: Sequence[int]) -> Floats:
        """Return the purchases of labelled rows, by index in the order of labels."""
        return self.labelled.first().terms[indices]

    def relabel(self, rows: Floats, labels: Floats) -> None:
        """Replace the labels of the labelled rows and discard the recorded losses."""
        self.schedule.reset_losses()
        self.labelled.relabel(labels.tolist())
        self.labels = LabelRange(self.model.label_range)
        self.labels.update(labels)
        self.schedule.fit_all(self.scaling.units)

    def defer_fits(self) -> None:
        """Leave fits to the caller of `next_fit`."""
        self.fits_elsewhere = True
        if self._schedule is not None:
            self._schedule.fit_elsewhere(self.scaling.units)

    def next_fit(self) -> FitJob | None:
        """Return the next due fit, to all labelled rows in the current scaling."""
        return None if self._schedule is None else self._schedule.due_fit(self.scaling.units)

    def install_fit(self, fitted: FitResult) -> bool:
        """Use the fitted experts; return False if the fit is outdated."""
        if self._schedule is None:
            return False
        installed = self._schedule.install(fitted)
        self._schedule.fit_if_due(self.scaling.units)
        return installed

    def replay_fit(self, values: Mapping[str, Any]) -> None:
        """Repeat the fit that `FitJob.values` describes; do nothing before the first input.

        Without units in `values` the fit uses the current ones.
        """
        if self._schedule is not None:
            self._schedule.refit(values, self.scaling.units)
            self._schedule.fit_if_due(self.scaling.units)

    def stored_rows(self, X: Floats) -> Floats:
        """Return the rows to store: the inputs unchanged."""
        return X

    def unlearn(self, indices: Sequence[int], rows: Floats, labels: Floats) -> None:
        """Remove labelled rows by index in the order of labels; `rows` and `labels` remain."""
        self.labelled.remove(indices)
        self.relabel(rows, labels)
        self.leverage.invalidate()

    def load_from(self, other: EnsembleState) -> None:
        """Load a state whose classes are the first ones of this model, or with neither classes nor labels.

        `pending` contains the queries already; this extends their outputs.
        """
        self.added_columns, self.fits_elsewhere = other.added_columns, other.fits_elsewhere
        self.scaling.restore(*other.scaling.save())
        self.labelled.restore(other.labelled.arrays(), self.scaling.dim)
        self.labels.update(self.labelled.first().y)
        if not self.scaling.dim:
            return
        schedule = self.schedule
        same_experts = other.model.label_codec.classifies and schedule.names == other.schedule.names
        if same_experts:
            schedule.load_from(other.schedule)
        schedule.fit_all(self.scaling.units)
        prior_outputs = np.tile(self.model.prior_output(), (1, len(schedule.names), 1))
        for query in self.pending.values():
            predictions, outputs = cast(Floats, query.expert_outputs)[:-1], prior_outputs
            if same_experts and (predictions != other.model.prior_output()).any():
                added_classes = self.model.output_count - predictions.shape[1]
                padded = np.pad(predictions, ((0, 0), (0, added_classes)))[None]
                outputs = self.model.clip_outputs(padded, self.labels)
            query.labels_seen = len(self.labelled)
            query.expert_outputs = np.vstack([outputs[0], self.combine(outputs)])

    def advance(self, count: int) -> None:
        """Update the scaling with the input of `predict_next`; look-aheads update it themselves."""
        if self._last is not None:
            self.scaling.update(self._last[0][None])
            self._last = None

    def _bounded_predictions(self, X: Floats) -> Floats:
        return self.model.clip_outputs(self.expert_predictions(X), self.labels)

    def _queried_rows(self) -> Floats:
        labelled = self.labelled.first().X
        pending = [query.features for query in self.pending.values() if query.features is not None]
        return np.vstack([labelled.reshape(-1, self.scaling.dim), *pending])

    # Files

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, scaling = self.scaling.save()
        low, high = self.labels.low, self.labels.high
        learned = self.model.label_range is None and low <= high
        values["range"] = [low, high] if learned else []
        values[ADDED_COLUMNS] = self.added_columns
        fitted, schedule = ({}, {}) if self._schedule is None else self._schedule.save()
        values |= {"fitted_quick": 0, "fitted_slow": 0, "scikit_learn": "", "experts": ""} | fitted
        parts = {
            LABELLED: self.labelled.arrays(),
            SCALING: scaling,
            LEVERAGE: self.leverage.arrays(),
            SCHEDULE: schedule,
        }
        arrays = {f"{part}.{name}": array for part, named in parts.items() for name, array in named.items()}
        return values, arrays

    def replayable_arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays except M: they follow from the recorded decisions and labels bit for bit."""
        return _without_leverage(self.save()[1])

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `save` returned."""
        self.scaling.restore(values, strip_prefix(f"{SCALING}.", arrays))
        dim = self.scaling.dim
        self.added_columns = values.get(ADDED_COLUMNS, 0)  # missing in files written by older versions
        columns = dim or self.model.dim or self.added_columns + 1
        if not 0 <= self.added_columns < columns:
            raise invalid(ADDED_COLUMNS, "a saved state", "fewer than its columns", self.added_columns)
        self.leverage.restore(strip_prefix(f"{LEVERAGE}.", arrays))
        self.labelled.restore(strip_prefix(f"{LABELLED}.", arrays), dim)
        if values["range"]:
            low, high = values["range"]
            self.labels.set(low, high, len(self.labelled))
        schedule = strip_prefix(f"{SCHEDULE}.", arrays)
        if schedule:
            self.schedule.restore(values, schedule)
        check_features(self.pending, dim)
        for query in self.pending.values():
            outputs = {"expert_outputs": np.asarray(query.expert_outputs)}
            shape = len(self.schedule.names) + 1, self.model.output_count
            check_shapes(outputs, {"expert_outputs": shape})


def with_more_columns(state: EnsembleState, model: EnsembleModel, constants: Floats) -> EnsembleState:
    """Return the state of a model with added columns, which were constant in all inputs so far.

    Ridge regressions are fitted again, and M is rebuilt from the queried rows, at their next use. The new
    state takes over the fitted estimators: do not use the old state afterwards.
    """
    values, arrays = state.save()
    kept = _without_leverage(arrays)
    added = {ADDED_COLUMNS: state.added_columns + len(constants)}
    widen_features(state.pending, constants)
    widened = model.start(state.pending)
    widened.restore(values | added, {name: _append(name, array, constants) for name, array in kept.items()})
    if state.fits_elsewhere:
        widened.defer_fits()
    if f"{SCHEDULE}.units" in kept:
        widened.schedule.load_slow_from(state.schedule)
    return widened


def _without_leverage(arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    return {name: array for name, array in arrays.items() if not name.startswith(f"{LEVERAGE}.")}


def _append(name: str, array: Floats, constants: Floats) -> Floats:
    if name not in IN_EVERY_ROW | IN_FIRST_ROW:
        return array
    new = np.tile(constants, (len(array), 1))
    if name in IN_FIRST_ROW:
        new[1:] = 0.0
    return np.hstack([array, new])
