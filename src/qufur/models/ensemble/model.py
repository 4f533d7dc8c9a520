"""Base class of `Experts` and `Refit`, and scikit-learn estimators as JSON values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from typing import Any, cast

import numpy as np

from qufur.arrays import Floats, as_count, is_integer, set_fields, strip_prefix
from qufur.errors import invalid
from qufur.models._regression import as_range
from qufur.models.base import Model, State, Tags
from qufur.models.capabilities import HasExperts, Widens
from qufur.models.ensemble.aggregation import Aggregation, ExponentialWeights, PolynomialWeights
from qufur.models.ensemble.fits import ExpertSet
from qufur.models.ensemble.report import EnsembleReport
from qufur.models.ensemble.saved_experts import match_experts, match_outputs
from qufur.models.ensemble.state import EnsembleState, with_more_columns
from qufur.models.ensemble.training_set import LabelRange
from qufur.models.labels import ClassNames, LabelCodec, RealLabels
from qufur.pending import PendingQueries
from qufur.storage.container import Content

KEY = "estimator"
"""JSON key of an estimator's class name."""
MIN_PROBABILITY = 0.003
"""Lower bound of an expert's class probabilities."""


def describe(value: Any) -> Any:
    """Return an estimator, or the value of a parameter, as JSON values: names and parameters, never code.

    >>> from sklearn.linear_model import Ridge
    >>> describe(Ridge(2.0))["estimator"]
    'sklearn.linear_model._ridge.Ridge'
    """
    if hasattr(value, "get_params"):
        estimator = type(value)
        parameters = {name: describe(item) for name, item in sorted(value.get_params(deep=False).items())}
        return {KEY: f"{estimator.__module__}.{estimator.__qualname__}", "parameters": parameters}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    allowed = "of numbers, strings, None, lists and estimators, to be saved"
    raise invalid("the parameters", "an estimator", allowed, type(value).__name__)


def revive(value: Any, estimators: Mapping[str, Any]) -> Any:
    """Return a described estimator: the caller's, by class name, or a new scikit-learn estimator.

    Any other class, and a pipeline with a `memory` folder, raise `InvalidError`: a file must not run code.
    """
    if isinstance(value, list):
        return [revive(item, estimators) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get(KEY))
    module, _, class_name = name.rpartition(".")
    if class_name in estimators:
        return estimators[class_name]
    is_sklearn = module.split(".")[0] == "sklearn"
    estimator = getattr(import_module(module), class_name, None) if is_sklearn else None
    remedy = f"Pass it to Learner.load(path, estimators={{{class_name!r}: {class_name}(...)}})."
    if not hasattr(estimator, "get_params"):
        raise invalid("estimator", "the file", "a scikit-learn estimator", repr(name), remedy)
    parameters = {key: revive(item, estimators) for key, item in value["parameters"].items()}
    if parameters.get("memory") is not None:  # joblib would unpickle files of that folder
        raise invalid("memory", f"{class_name} in the file", "None", repr(parameters["memory"]), remedy)
    return estimator(**parameters)  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True, eq=False)
class EnsembleModel(Model, Widens, HasExperts):
    """Ensemble of experts that are refitted as labels arrive; `Experts` describes the parameters."""

    label_range: tuple[float, float] | None = None
    classes: Sequence[Any] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        label_range = None if self.label_range is None else as_range(self.label_range, owner)
        if not is_integer(self.seed) or self.seed < 0:
            raise invalid("seed", owner, "an integer of at least 0", repr(self.seed))
        set_fields(
            self,
            dim=None if self.dim is None else as_count(self.dim, "dim", owner),
            label_range=label_range,
            classes=_as_classes(self.classes, owner),
            seed=int(self.seed),
        )
        if label_range is not None and self.classes is not None:
            raise invalid("label_range", owner, "omitted with classes", repr(label_range))

    def __eq__(self, other: object) -> bool:
        """Compare the descriptions, because estimators do not define equality."""
        return type(self) is type(other) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(repr(self.describe()))

    @abstractmethod
    def build_experts(self, dim: int, further: int) -> ExpertSet:
        """Return the unfitted experts, for `dim` columns at the start and `further` columns since."""

    @abstractmethod
    def prior(self, panel: ExpertSet) -> Floats:
        """Return the weights of the experts before the first label; their sum is 1."""

    def aggregation(self, panel: ExpertSet) -> Aggregation:
        """Return the initial weights and their update rule."""
        aggregation = PolynomialWeights if self.classes is None else ExponentialWeights
        return aggregation(self.prior(panel))

    @cached_property
    def tags(self) -> Tags:  # type: ignore[override]
        """Properties of the model. For classes Δ is the margin uncertainty, which depends on labels."""
        return Tags(
            label_free=self.classes is None,
            monotone=True,
            bounded=False,
            any_norm=True,
            order_independent=False,
            scales_inputs=True,
            uses_purchases=True,
            fast=False,
        )

    @cached_property
    def label_codec(self) -> LabelCodec:  # type: ignore[override]
        """Codec of numbers in the label range, or of class names."""
        if self.classes is None:
            return RealLabels(self.label_range)
        return ClassNames(self.classes, type(self).__name__)

    def start(self, pending: PendingQueries | None = None) -> EnsembleState:
        return EnsembleState(self, pending)

    def with_columns(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Append columns. Columns that were constant so far affect neither the scaling nor Δ."""
        dim = None if self.dim is None else self.dim + len(constants)
        model = replace(self, dim=dim)  # type: ignore[call-arg]
        return model, with_more_columns(cast(EnsembleState, state), model, constants)

    # Outputs: a number, or a probability per class

    @property
    def output_count(self) -> int:
        """Number of outputs of an expert: 1, or the number of classes."""
        return 1 if self.classes is None else len(self.classes)

    def prior_output(self) -> Floats:
        """Return the output before the first label: equal probabilities, the middle of the range, or 0."""
        if self.classes is not None:
            return np.full(self.output_count, 1 / self.output_count)
        return np.array([0.0 if self.label_range is None else sum(self.label_range) / 2])

    def targets(self, y: Floats) -> Floats:
        """Return the targets of fits: the labels, or their one-hot encoding."""
        if self.classes is None:
            return y[:, None]
        return np.asarray(y[:, None] == np.arange(self.output_count), dtype=np.float64)

    def clip_outputs(self, said: Floats, labels: LabelRange) -> Floats:
        """Clip the outputs of experts to the range of labels, or normalise them to probabilities."""
        if self.classes is None:
            return labels.clip(said)
        positive = np.maximum(said, MIN_PROBABILITY)
        return np.asarray(positive / positive.sum(axis=-1, keepdims=True))

    def predictions(self, outputs: Floats) -> Floats:
        """Return the predicted number, or the code of the most probable class."""
        chosen = outputs[..., 0] if self.classes is None else outputs.argmax(axis=-1)
        return np.asarray(chosen, dtype=np.float64)

    # Losses

    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the squared loss, or the zero-one loss with classes."""
        if self.classes is None:
            return (prediction - label) ** 2
        return np.asarray(prediction != label, dtype=np.float64)

    def losses(self, outputs: Floats, labels: Floats) -> Floats:
        """Return the loss of each of several outputs per label: (labels, outputs)."""
        return self.loss(self.predictions(outputs), labels[:, None])

    @property
    def loss_scale(self) -> float | None:
        """Largest loss; None without classes and `label_range`."""
        if self.classes is not None:
            return 1.0
        return None if self.label_range is None else (self.label_range[1] - self.label_range[0]) ** 2

    def largest_loss(self, prediction: Floats) -> Floats:
        return self.largest_loss_within(prediction, LabelRange(self.label_range))

    def largest_loss_within(self, prediction: Floats, labels: LabelRange) -> Floats:
        """Return the largest possible loss of each prediction; 0 if the range is unknown."""
        return labels.largest_loss(prediction) if self.classes is None else np.ones(len(prediction))

    def ensemble_report(self, state: EnsembleState) -> EnsembleReport:
        """Return weights and losses of the experts of a state."""
        names = state.schedule.names if state.scaling.dim else []
        if not names:
            return EnsembleReport(0, math.nan, (), (), (), (), (), (), 0.0, self.classes is None)
        schedule, records = state.schedule, state.schedule.records.up_to_date()
        *losses, loss = records.losses.means().tolist()
        terms = state.labelled.first().terms
        bought = terms[terms[:, 0] < 1]
        report = EnsembleReport(
            records.losses.labels,
            loss,
            tuple(names),
            tuple(losses),
            tuple(schedule.aggregation.weights.tolist()),
            tuple(records.losses.standard_errors().tolist()),
            tuple(index for index, name in enumerate(names) if name.startswith(("constant", "Dummy"))),
            tuple(schedule.at_random),
            float(bought[:, 2].mean()) if len(bought) else 1.0,
            self.classes is None,
            class_errors=records.classes.of(list(map(str, self.classes or ()))),
        )
        best, share = report.best_at_random, report.share_at_random
        if best is None:
            return report
        loss_at_random = records.curve.if_all_random(
            schedule.at_random.index(best), share, records.losses.labels
        )
        return replace(report, all_at_random=loss_at_random)

    def without_experts(self) -> Model:
        """Return a model with a constant as its only expert; with classes Δ depends on all experts."""
        from sklearn.dummy import DummyRegressor

        from qufur.models.ensemble.refit import Refit

        return Refit(DummyRegressor(), dim=self.dim) if self.tags.label_free else self

    # Labels and files

    def with_current_experts(self, content: Content) -> Content:
        """Return the content of a file for the experts of this version, matched by name.

        Files of 0.1.0 contain no names; their experts are those of this version.
        """
        header, tensors = content
        schedule, stored = strip_prefix("state.board.", tensors), header["state"].get("experts")
        if not stored or not schedule:
            return content
        added = header["state"]["further"]
        names = self.build_experts(schedule["units"].shape[1] - added, added).names
        if names == stored.split("\n"):
            return content
        matched = match_experts(schedule, stored.split("\n"), names)
        others = {name: array for name, array in tensors.items() if not name.startswith("state.board.")}
        if header["ids"]:
            outputs = match_outputs(others["pending.expert_outputs"], stored.split("\n"), names)
            others["pending.expert_outputs"] = outputs
        state = {**header["state"], "experts": "\n".join(names)}
        return {**header, "state": state}, others | {f"state.board.{k}": a for k, a in matched.items()}

    def estimators(self) -> dict[str, Any]:
        values = [getattr(self, field.name) for field in fields(self)]
        parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        return {type(part).__name__: part for part in parts if hasattr(part, "get_params")}

    def describe(self) -> dict[str, Any]:
        """Return the model's arguments as JSON values; estimators as class name and parameters."""
        return {field.name: describe(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_description(cls, description: dict[str, Any], estimators: Mapping[str, Any]) -> EnsembleModel:
        return cls(**{name: revive(value, estimators) for name, value in description.items()})


def _as_classes(classes: Any, owner: str) -> tuple[Any, ...] | None:
    if classes is None:
        return None
    values = tuple(classes.tolist() if isinstance(classes, np.ndarray) else classes)
    valid = all(
        isinstance(value, str | int) or (isinstance(value, float) and not math.isnan(value))
        for value in values
    )
    if len(values) < 2 or not valid or len(set(values)) < len(values):
        raise invalid("classes", owner, "at least two different strings or numbers, not nan", repr(classes))
    return values
