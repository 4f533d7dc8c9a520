"""Losses of the experts and of the ensemble, from out-of-sample predictions and received labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qufur.arrays import Floats, Ints, check_shapes, strip_prefix
from qufur.models.ensemble.learning_curve import LearningCurve
from qufur.pending import purchase_terms

if TYPE_CHECKING:
    from qufur.models.ensemble.model import EnsembleModel
    from qufur.pending import Pending


DEVIATIONS = 1.96
"""Standard deviations of a normal distribution, for intervals of 95 %."""
BUFFERED_LABELS = 64
"""Labels that are collected before they are added; the sums do not depend on it, bit for bit."""
RECORD, CURVE, CLASS_ERRORS = "record", "curve", "class_errors"
"""Prefixes of the saved arrays."""


class ClassError(NamedTuple):
    """Error of the ensemble on the examples of one class.

    Attributes
    ----------
    name, labels
        The class, and its number of bought labels with an out-of-sample prediction.
    share
        Share of the class among all examples, estimated by inverse probability.
    error, low, high
        Share of wrong predictions, NaN without labels, and its interval of about 95 %.
    """

    name: str
    labels: int
    share: float
    error: float
    low: float
    high: float


class ClassErrors:
    """Sums over the labels of each class, each label with the weight 1/p.

    The interval is Wilson's for the effective sample size (Σ1/p)²/Σ1/p². It is pointwise, unlike the
    time-uniform interval of the report's loss.

    >>> errors = ClassErrors(2)
    >>> errors.update(np.array([1, 1, 1, 1]), np.array([1.0, 0.0, 0.0, 0.0]), probability=np.full(4, 0.5))
    >>> [round(value, 2) for value in errors.of(["no", "yes"])[1][3:]]
    [0.25, 0.05, 0.7]
    """

    def __init__(self, classes: int) -> None:
        self._sums = np.zeros((classes, 4))

    def update(self, labels: Ints, wrong: Floats, probability: Floats) -> None:
        """Add labels; `wrong` is 1 or 0."""
        weight, sums = 1 / probability, self._sums.copy()
        np.add.at(sums, labels, np.column_stack([np.ones(len(labels)), weight, wrong * weight, weight**2]))
        self._sums = sums

    def of(self, names: list[str]) -> tuple[ClassError, ...]:
        """Return the errors of all classes."""
        total = self._sums[:, 1].sum() or 1.0
        return tuple(
            ClassError(name, int(labels), weight / total, *_interval(weight, wrong, squares))
            for name, (labels, weight, wrong, squares) in zip(names, self._sums.tolist(), strict=True)
        )

    def load_from(self, other: ClassErrors) -> None:
        """Load the errors of an ensemble whose classes are the first classes of this one."""
        self._sums[: len(other._sums)] = other._sums

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state as named arrays."""
        return {"sums": self._sums}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `arrays` returned; files written by older versions have none."""
        if arrays:
            check_shapes(arrays, {"sums": ("c", 4)}, c=len(self._sums))
            self._sums = arrays["sums"]


def _interval(weight: float, wrong: float, squares: float) -> tuple[float, float, float]:
    if not weight:
        return math.nan, 0.0, 1.0
    share, labels = wrong / weight, weight**2 / squares
    z = DEVIATIONS**2 / labels
    middle, half = share + z / 2, math.sqrt(z * (share * (1 - share) + z / 4))
    low, high = ((middle + side) / (1 + z) for side in (-half, half))
    return share, min(max(low, 0.0), share), max(min(high, 1.0), share)


class TrackRecord:
    """Losses of experts and, last, of the ensemble, each with the weight 1/p of its label.

    >>> record = TrackRecord(experts=1)
    >>> record.update(np.array([[4.0, 1.0], [0.0, 2.0]]), probability=np.array([0.5, 1.0]))
    >>> record.means().round(3), record.standard_errors().round(3)
    (array([2.667, 1.333]), array([1.414]))
    """

    def __init__(self, experts: int) -> None:
        self.labels = 0
        self._sums = np.zeros(2 * experts + 2)
        self._experts = experts

    def update(self, losses: Floats, probability: Floats) -> None:
        """Add the losses of labels bought with these probabilities."""
        p, lead = probability[:, None], losses[:, -1:] - losses[:, :-1]
        self.labels += len(losses)
        # The variance of q·d/p is d²(1 − p)/p; the last columns are its unbiased estimate.
        terms = np.hstack([1 / p, losses / p, lead**2 * (1 - p) / p**2])
        # Sequential sums: their bits do not depend on the size of the batch.
        self._sums = np.add.accumulate(np.vstack([self._sums, terms]))[-1].copy()

    def means(self) -> Floats:
        """Return the mean losses of the experts and of the ensemble; NaN before the first label."""
        losses = self._sums[1 : self._experts + 2]
        return losses / self._sums[0] if self.labels else np.full(len(losses), np.nan)

    def standard_errors(self) -> Floats:
        """Return the standard errors of the differences between the ensemble and each expert."""
        return np.sqrt(self._sums[self._experts + 2 :]) / (self._sums[0] or 1.0)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state as named arrays."""
        return {"sums": np.append(self._sums, float(self.labels))}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `arrays` returned."""
        check_shapes(arrays, {"sums": (len(self._sums) + 1,)})
        self._sums, self.labels = arrays["sums"][:-1].copy(), int(arrays["sums"][-1])


class ExpertLosses:
    """Losses per expert, learning curves on uniformly sampled labels, and errors per class.

    Parameters
    ----------
    model
        Model of the experts.
    experts, at_random
        Number of experts, and indices of those that use only uniformly sampled labels.
    """

    def __init__(self, model: EnsembleModel, experts: int, at_random: list[int]) -> None:
        self._model, self._at_random = model, at_random
        self._buffer: list[tuple[Pending, float]] = []
        self.losses = TrackRecord(experts)
        self.curve = LearningCurve(len(at_random))
        self.classes = ClassErrors(model.output_count if model.label_codec.classifies else 0)
        self._parts: dict[str, Any] = {RECORD: self.losses, CURVE: self.curve, CLASS_ERRORS: self.classes}

    def update(self, query: Pending, label: float) -> None:
        """Add the label of a query."""
        self._buffer.append((query, label))
        if len(self._buffer) == BUFFERED_LABELS:
            self.up_to_date()

    def up_to_date(self) -> ExpertLosses:
        """Add all buffered labels and return the losses."""
        if not self._buffer:
            return self
        queries, values = zip(*self._buffer, strict=True)
        outputs, labels = np.array([query.expert_outputs for query in queries]), np.array(values)
        p, _, at_random = purchase_terms(queries).T
        self._buffer = []
        losses = self._model.losses(outputs, labels)
        self.losses.update(losses, p)
        self.curve.update(losses[:, self._at_random], losses[:, -1], p, at_random)
        if self._model.label_codec.classifies:
            self.classes.update(labels.astype(np.int64), losses[:, -1], p)
        return self

    def load_from(self, other: ExpertLosses) -> None:
        """Load the losses of an ensemble whose classes are the first classes of this one."""
        other.up_to_date()
        self.losses.restore(other.losses.arrays())
        self.curve.restore(other.curve.arrays())
        self.classes.load_from(other.classes)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state as named arrays."""
        self.up_to_date()
        parts = self._parts.items()
        return {f"{prefix}.{name}": array for prefix, part in parts for name, array in part.arrays().items()}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `arrays` returned."""
        for prefix, part in self._parts.items():
            part.restore(strip_prefix(f"{prefix}.", arrays))
