"""Fits of an ensemble's experts: the experts, one fit as a job, and the schedule of fits."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from qufur._internal.threads import single_blas_thread
from qufur.arrays import Floats, Ints, as_inputs, check_shapes, is_integer, strip_prefix
from qufur.errors import OtherVersionWarning, invalid
from qufur.models.ensemble.aggregation import Aggregation
from qufur.models.ensemble.expert import Expert
from qufur.models.ensemble.losses import ExpertLosses
from qufur.models.ensemble.saved_experts import WEIGHTS, is_at_random
from qufur.models.ensemble.scaling import Units
from qufur.models.ensemble.training_set import Sample, TrainingSet

if TYPE_CHECKING:
    from qufur.models.ensemble.model import EnsembleModel
    from qufur.pending import Pending


GROWTH = {"quick": 0.1, "slow": 0.15}
"""Share of additional labels after which experts are fitted again."""
MIN_NEW_LABELS = {"quick": 1, "slow": 3}
"""Fewest additional labels after which experts are fitted again."""
MAX_MISSED_LABELS = 3
"""The error of a label corrects the bias only if at most this number of labels, or the share `GROWTH["slow"]`
of those received before, arrived since its query."""
STALE = 0.05
"""Share of additional labels after which a new scaling causes a fit of the slow experts."""


class ExpertSet:
    """All experts of an ensemble: quick experts, and slow experts (estimators).

    Parameters
    ----------
    quick, slow
        Experts, fitted on separate schedules.
    output
        Output of every expert before the first label.
    dim
        Number of columns at the start. Of columns added later, estimators see only those that vary among the
        labelled rows. A constant column would otherwise change trees, which sample columns at random.
    """

    def __init__(self, quick: Sequence[Expert], slow: Sequence[Expert], output: Floats, dim: int) -> None:
        self.quick, self.slow = quick, slow
        self._dim, self._outputs = dim, len(output)
        self._columns: Ints | slice = slice(dim)
        for expert in (*quick, *slow):
            expert.reset(output)

    def with_speed(self, speed: str) -> Sequence[Expert]:
        """Return the quick or the slow experts."""
        return self.quick if speed == "quick" else self.slow

    @property
    def quick_count(self) -> int:
        """Number of outputs of the quick experts."""
        return sum(len(expert.names) for expert in self.quick)

    def load_from(self, speed: str, experts: ExpertSet) -> None:
        """Replace the quick or the slow experts by those of another set."""
        if speed == "quick":
            self.quick = experts.quick
        else:
            self.slow, self._columns = experts.slow, experts._columns

    def only(self, speed: str) -> ExpertSet:
        """Return a set with the quick or the slow experts alone."""
        experts = copy.copy(self)
        experts.quick, experts.slow = (self.quick, ()) if speed == "quick" else ((), self.slow)
        return experts

    @property
    def names(self) -> list[str]:
        """Names of the experts, in the order of their outputs."""
        return [name for expert in (*self.quick, *self.slow) for name in expert.names]

    def fitted(self, speed: str, sample: Sample, Z: Floats, targets: Floats) -> ExpertSet:
        """Return a copy whose quick or slow experts are fitted to at least one row, unscaled and scaled."""
        experts, selected = copy.copy(self), [copy.copy(expert) for expert in self.with_speed(speed)]
        if speed == "quick":
            experts.quick = selected
        else:
            experts.slow, experts._columns = selected, _informative_columns(sample.X, self._dim)
            sample = sample._replace(X=sample.X[:, experts._columns])
        with single_blas_thread():
            for expert in selected:
                expert.fit(sample, Z, targets)
        return experts

    def predict(self, X: Floats, Z: Floats) -> Floats:
        """Return the output of each expert for each row: (rows, experts, outputs)."""
        X = X[:, self._columns]
        outputs = [expert.predict(X, Z) for expert in (*self.quick, *self.slow)]
        return np.concatenate([_pad_classes(output, self._outputs) for output in outputs], axis=1)


def _pad_classes(outputs: Floats, count: int) -> Floats:
    """Append probability 0 for classes added since the expert was fitted."""
    missing = count - outputs.shape[2]
    return np.pad(outputs, ((0, 0), (0, 0), (0, missing))) if missing else outputs


def _informative_columns(X: Floats, dim: int) -> Ints | slice:
    """Return the first `dim` columns and all others that vary."""
    if X.shape[1] == dim:
        return slice(dim)
    varies = (X[0] != X).any(axis=0)
    varies[:dim] = True
    return np.flatnonzero(varies)


@dataclass(frozen=True, eq=False)
class FitJob:
    """A fit of the quick or the slow experts to the first labelled rows.

    The learner changes nothing that a job refers to, so that it can continue while the job runs.

    Attributes
    ----------
    model
        Model of the experts.
    experts
        Experts before any label; they are not modified.
    speed
        "quick" or "slow".
    sample
        Labelled rows.
    units
        Scaling of the rows for the quick experts.
    labels_version
        Token of the rows' labels; a correction of labels replaces it.
    is_repeat
        Whether the fit was installed before the learner was saved. Such a fit need not be logged again.
    """

    model: EnsembleModel
    experts: ExpertSet
    speed: str
    sample: Sample
    units: Units
    labels_version: object
    is_repeat: bool = False

    @property
    def labels(self) -> int:
        """Number of labelled rows."""
        return len(self.sample.y)

    @property
    def values(self) -> dict[str, Any]:
        """Arguments of `Learner.refit` that repeat the fit with the same labels, as JSON values."""
        units = [self.units.mean.tolist(), self.units.deviation.tolist()]
        return {"speed": self.speed, "labels": self.labels, "units": units}

    def for_worker(self) -> FitJob:
        """Return a copy for another process, without the parts that `run` does not use."""
        return replace(self, experts=self.experts.only(self.speed), labels_version=None)

    def run(self) -> FitResult:
        """Fit the experts. Thread-safe and deterministic."""
        if not (self.labels and self.experts.with_speed(self.speed)):
            return FitResult(self, self.experts)
        Z, targets = self.units.transform(self.sample.X), self.model.targets(self.sample.y)
        return FitResult(self, self.experts.fitted(self.speed, self.sample, Z, targets))


class FitResult(NamedTuple):
    """Fitted experts, for `Learner.install_fit`."""

    job: FitJob
    experts: ExpertSet


class FitSchedule:
    """Experts of an ensemble with their fits, weights and losses.

    Experts are fitted lazily, at their next prediction: of several due fits only the last one runs. Fitted
    experts are not saved; after loading they are fitted again to the same rows in the same units.

    Parameters
    ----------
    model
        Model of the experts.
    units
        Scaling of the inputs until the first fit.
    labelled
        Rows to fit to.
    added_columns
        Number of columns added since the start.

    Attributes
    ----------
    fitted
        Number of labelled rows that the quick and the slow experts are fitted to.
    """

    def __init__(self, model: EnsembleModel, units: Units, labelled: TrainingSet, added_columns: int) -> None:
        self._model, self._units, self._labelled = model, units, labelled
        self._unfitted = model.build_experts(len(units.mean) - added_columns, added_columns)
        self._experts = copy.copy(self._unfitted)
        self._jobs: dict[str, FitJob] = {}  # to run at the next prediction
        self._deferred = False
        self._due_speeds: set[str] = set()
        self._sklearn_version = _scikit_learn_version()
        self.fitted = {"quick": 0, "slow": 0}
        self.names = self._experts.names
        self.aggregation: Aggregation = model.aggregation(self._experts)
        self._prior_outputs = [model.prior_output().tolist()] * len(self.names)
        self.at_random = [index for index, name in enumerate(self.names) if is_at_random(name)]
        self.reset_losses()

    def predict(self, X: Floats) -> Floats:
        """Return the unclipped output of each expert for each row: (rows, experts, outputs)."""
        self.run_due_jobs()
        outputs = self._experts.predict(X, self._units.transform(X))
        slow_unfitted = "slow" in self._jobs or not self.fitted["slow"]
        if self._deferred and slow_unfitted and self._has_quick_fit:
            # The weighted mean of the quick experts replaces the outputs of slow ones without a fit.
            quick = self._experts.quick_count
            weights = self.aggregation.weights[:quick]
            mean = np.average(outputs[:, :quick], axis=1, weights=weights if weights.any() else None)
            outputs[:, quick:] = mean[:, None]
        return outputs

    def run_due_jobs(self) -> None:
        """Run the fits that the next prediction needs."""
        for speed in [speed for speed, job in self._jobs.items() if not job.is_repeat]:
            self._experts.load_from(speed, self._jobs.pop(speed).run().experts)

    @property
    def shared_parts(self) -> list[Any]:
        """Parts that never change, or that no prediction uses; a frozen copy shares them."""
        experts = [*self._experts.quick, *self._experts.slow, self._unfitted]
        return [*experts, *self._jobs.values(), self.records]

    @property
    def _has_quick_fit(self) -> bool:
        return bool(self._experts.quick and self.fitted["quick"])

    def next_fit(self) -> int:
        """Return the number of labels at which experts are fitted next; `sys.maxsize` with deferred fits."""
        if self._deferred:
            return sys.maxsize
        return min(self._due(speed) for speed in self.fitted)

    def fit_elsewhere(self, units: Units) -> None:
        """Defer fits: mark them as due and leave them to the caller of `due_fit`.

        A pending fit of slow experts becomes due as well if quick experts can substitute for them.
        """
        self._deferred = True
        slow = self._jobs.get("slow")
        if slow is not None and slow.labels and self._has_quick_fit:
            self._jobs["slow"] = replace(slow, is_repeat=True)
        self.fit_if_due(units)

    def fit_if_due(self, units: Units) -> None:
        """Fit the experts with enough additional labels since their last fit."""
        for speed in self.fitted:
            if len(self._labelled) >= self._due(speed):
                self.fit(speed, units)

    def fit_if_stale(self, units: Units) -> None:
        """Fit the slow experts if the number of labels has grown by the share `STALE`."""
        if self.fitted["slow"] * (1 + STALE) < len(self._labelled):
            self.fit("slow", units)

    def fit_all(self, units: Units) -> None:
        """Fit all experts to all labelled rows; without rows, reset them."""
        if not len(self._labelled):
            self._experts = copy.copy(self._unfitted)
        for speed in self.fitted:
            self.fit(speed, units)

    def fit(self, speed: str, units: Units) -> None:
        """Fit quick or slow experts to all labelled rows; with deferred fits, mark the fit as due."""
        count = len(self._labelled)
        if self._deferred and count and self._experts.with_speed(speed):
            self._due_speeds.add(speed)
        else:
            self._fit_lazily(self.fit_to(speed, count, units))

    def fit_to(self, speed: str, count: int, units: Units) -> FitJob:
        """Return the fit of quick or slow experts to the first `count` labelled rows."""
        sample = self._labelled.first(count)
        return FitJob(self._model, self._unfitted, speed, sample, units, self._labels_version)

    def due_fit(self, units: Units) -> FitJob | None:
        """Return the next due fit: quick before slow, and repeats of earlier fits last."""
        speed = min(self._due_speeds, default=None)  # "quick" < "slow"
        if speed is not None:
            return self.fit_to(speed, len(self._labelled), units)
        return next((job for job in self._jobs.values() if job.is_repeat), None)

    def install(self, result: FitResult) -> bool:
        """Use the fitted experts; return False if the fit is outdated."""
        job = result.job
        if job.is_repeat:
            if self._jobs.get(job.speed) is not job:
                return False
        elif job.labels_version is not self._labels_version or job.labels < self.fitted[job.speed]:
            return False
        else:
            self._mark_fitted(job)
        self._jobs.pop(job.speed, None)
        self._experts.load_from(job.speed, result.experts)
        return True

    def refit(self, values: Mapping[str, Any], current: Units) -> None:
        """Repeat the fit of `FitJob.values` at the next prediction, by default in `current` units."""
        speed, dim = values.get("speed"), len(self._units.mean)
        count: Any = values.get("labels")
        units = as_inputs(values.get("units", [current.mean, current.deviation]), dim, "the units of a fit")
        check_shapes({"units": units}, {"units": (2, "d")}, d=dim)
        if speed not in self.fitted:
            raise invalid("speed", "a fit", " or ".join(map(repr, self.fitted)), repr(speed))
        if not (is_integer(count) and count >= self.fitted[speed]):
            raise invalid("labels", "a fit", f"an integer of at least {self.fitted[speed]}", repr(count))
        self._fit_lazily(self.fit_to(speed, count, Units(*units)))

    def _fit_lazily(self, job: FitJob) -> None:
        """Mark experts as fitted and run the job at the next prediction, unless a later one replaces it."""
        self._mark_fitted(job)
        self._jobs[job.speed] = job

    def _mark_fitted(self, job: FitJob) -> None:
        self.fitted[job.speed] = job.labels
        if job.speed == "quick":  # slow experts take unscaled inputs
            self._units = job.units
        self._sklearn_version = _scikit_learn_version()
        self._due_speeds.discard(job.speed)

    def _due(self, speed: str) -> int:
        """Return the number of labels at which the quick or the slow experts are fitted next."""
        count = self.fitted[speed]
        return count + max(MIN_NEW_LABELS[speed], int(GROWTH[speed] * count))

    def load_slow_from(self, other: FitSchedule) -> None:
        """Use the slow experts of a schedule with fewer columns; a new fit would give the same."""
        self._due_speeds |= other._due_speeds
        if "slow" not in other._jobs:
            self._experts.load_from("slow", other._experts)
            del self._jobs["slow"]
        elif other._deferred:  # labels may have changed since the job was created
            self._jobs["slow"] = other._jobs["slow"]

    def load_from(self, other: FitSchedule) -> None:
        """Use weights, losses and experts of a schedule with fewer classes and the same expert names.

        Until the next fit, experts return probability 0 for the added classes.
        """
        self.aggregation.restore(other.aggregation.arrays())
        self.records.load_from(other.records)
        for speed in self.fitted:
            self._experts.load_from(speed, other._experts)
        self.fitted, self._units = other.fitted.copy(), other._units
        self._jobs = other._jobs.copy()

    def reset_losses(self) -> None:
        """Discard the recorded losses and errors after labels were replaced; running fits become outdated."""
        self.records = ExpertLosses(self._model, len(self.names), self.at_random)
        self.aggregation.reset_bias()
        self._labels_version = object()
        self.fitted = {speed: min(count, len(self._labelled)) for speed, count in self.fitted.items()}

    def update(self, query: Pending, label: float) -> None:
        """Update weights and losses with the label of a query and the outputs recorded for it."""
        predictions = cast(Floats, query.expert_outputs)[:-1]
        if predictions.tolist() == self._prior_outputs:  # before the first fit
            return
        self.records.update(query, label)
        self.aggregation.update(predictions, label, query.mean_probability / query.probability)
        labels_seen = query.labels_seen
        if len(self._labelled) - labels_seen > max(MAX_MISSED_LABELS, GROWTH["slow"] * labels_seen):
            self.aggregation.reset_bias()  # the experts have learned from many labels since

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        arrays = {f"{WEIGHTS}.{name}": array for name, array in self.aggregation.arrays().items()}
        arrays |= self.records.arrays()
        arrays["units"] = np.array([self._units.mean, self._units.deviation])
        values = {f"fitted_{speed}": count for speed, count in self.fitted.items()}
        return values | {"scikit_learn": self._sklearn_version, "experts": "\n".join(self.names)}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `save` returned."""
        self.fitted = {speed: values[f"fitted_{speed}"] for speed in self.fitted}
        if max(self.fitted.values()) > len(self._labelled):
            raise invalid("fitted", "a saved state", "at most its number of labels", self.fitted)
        check_shapes(arrays, {"units": (2, "d")}, d=len(self._units.mean))
        self._units = Units(*arrays["units"])
        self.aggregation.restore(strip_prefix(f"{WEIGHTS}.", arrays))
        self.records.restore(arrays)
        self._jobs = {speed: self.fit_to(speed, count, self._units) for speed, count in self.fitted.items()}
        self._sklearn_version = values["scikit_learn"]
        if self._experts.slow and self._sklearn_version != _scikit_learn_version():
            message = (
                f"Experts fitted with scikit-learn {self._sklearn_version} are fitted again with"
                f" {_scikit_learn_version()}; their predictions may differ."
            )
            warnings.warn(message, OtherVersionWarning, stacklevel=2)


@cache
def _scikit_learn_version() -> str:
    # From the metadata: importing the package takes a second and 80 MB, even for models without experts.
    return version("scikit-learn")
