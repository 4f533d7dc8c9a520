"""Several models, one prediction: what `Experts` and `Refit` have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from qufur.arrays import Floats, as_count, is_whole, set_fields
from qufur.errors import invalid
from qufur.models.base import Model, State
from qufur.models.diagnostics.standing import Standing
from qufur.models.experts.aggregation import Aggregation, ExponentialWeights, PolynomialWeights
from qufur.models.experts.estimators import describe, revive
from qufur.models.experts.label_range import LabelRange
from qufur.models.experts.panel import Panel
from qufur.models.experts.state import CommitteeState
from qufur.models.experts.widen import wider_committee
from qufur.models.regression import as_range

LEAST_PROBABILITY = 0.003
"""Of a class, in what one expert says."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Committee(Model):
    """A model of experts that are fitted anew as labels come; `Experts` describes the parameters."""

    monotone = True
    bounded = False
    any_norm = True
    quick = False
    scales_inputs = True
    weighs_purchases = True

    label_range: tuple[float, float] | None = None
    classes: Sequence[Any] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        label_range = None if self.label_range is None else as_range(self.label_range, owner)
        if not is_whole(self.seed) or self.seed < 0:
            raise invalid("seed", owner, "an integer of at least 0", repr(self.seed))
        set_fields(
            self,
            dim=None if self.dim is None else as_count(self.dim, "dim", owner),
            label_range=label_range,
            classes=_as_classes(self.classes, owner),
            seed=int(self.seed),
        )
        if label_range is not None and self.classes is not None:
            raise invalid("label_range", owner, "left out where there are classes", repr(label_range))

    def __eq__(self, other: object) -> bool:
        """Compare what describes them: estimators know no equality."""
        return type(self) is type(other) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(repr(self.describe()))

    @abstractmethod
    def panel(self, dim: int, further: int) -> Panel:
        """Return the experts before any label, for `dim` columns and others that came after the start."""

    @abstractmethod
    def prior(self, panel: Panel) -> Floats:
        """Return the weights of the experts before any label; they sum up to 1."""

    def aggregation(self, panel: Panel) -> Aggregation:
        """Return how the experts are combined, before any label."""
        kind = PolynomialWeights if self.classes is None else ExponentialWeights
        return kind(self.prior(panel))

    @property
    def label_free(self) -> bool:  # type: ignore[override]
        """Whether Δ says how new an input is; for classes it says how doubtful, which labels change."""
        return self.classes is None

    def start(self) -> CommitteeState:
        return CommitteeState(self)

    @property
    def order_free(self) -> bool:
        return False

    def widened(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Take further columns: those that have not varied are neither in the scaling nor in Δ."""
        dim = None if self.dim is None else self.dim + len(constants)
        model = replace(self, dim=dim)  # type: ignore[call-arg]
        return model, wider_committee(cast(CommitteeState, state), model, constants)

    # Outputs: a number, or a probability for each class

    @property
    def output_count(self) -> int:
        """How many numbers an expert says: one, or one for each class."""
        return 1 if self.classes is None else len(self.classes)

    def first_output(self) -> Floats:
        """Return what is said before the first label: the middle of a given range, or 0."""
        if self.classes is not None:
            return np.full(self.output_count, 1 / self.output_count)
        return np.array([0.0 if self.label_range is None else sum(self.label_range) / 2])

    def targets(self, y: Floats) -> Floats:
        """Return labels as what experts are fitted to: numbers, or 1 for the class and 0 for the others."""
        if self.classes is None:
            return y[:, None]
        return np.asarray(y[:, None] == np.arange(self.output_count), dtype=np.float64)

    def bounded_outputs(self, said: Floats, labels: LabelRange) -> Floats:
        """Keep what experts say within the range of labels, or make it probabilities."""
        if self.classes is None:
            return labels.clip(said)
        some = np.maximum(said, LEAST_PROBABILITY)
        return np.asarray(some / some.sum(axis=-1, keepdims=True))

    def predictions(self, outputs: Floats) -> Floats:
        """Return the number, or the most probable class."""
        return np.asarray(outputs[:, 0] if self.classes is None else outputs.argmax(axis=1), dtype=np.float64)

    # Losses

    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the squared loss; with classes, 1 where the class is wrong."""
        if self.classes is None:
            return (prediction - label) ** 2
        return np.asarray(prediction != label, dtype=np.float64)

    def losses(self, outputs: Floats, labels: Floats) -> Floats:
        """Return the losses of several outputs for each label: (labels, several)."""
        if self.classes is None:
            return np.asarray((outputs[:, :, 0] - labels[:, None]) ** 2)
        return np.asarray(outputs.argmax(axis=2) != labels[:, None], dtype=np.float64)

    @property
    def loss_scale(self) -> float | None:
        """The largest loss, where a range is given or there are classes."""
        if self.classes is not None:
            return 1.0
        return None if self.label_range is None else (self.label_range[1] - self.label_range[0]) ** 2

    @property
    def given_range(self) -> tuple[float, float] | None:
        return self.label_range

    def largest_loss(self, prediction: Floats) -> Floats:
        return self.largest_loss_within(prediction, LabelRange(self.label_range))

    def largest_loss_within(self, prediction: Floats, labels: LabelRange) -> Floats:
        """Return the largest loss that each may turn out to have; 0 where nobody knows."""
        return labels.largest_loss(prediction) if self.classes is None else np.ones(len(prediction))

    def standing(self, state: CommitteeState) -> Standing:
        """Return how the experts of a state are doing."""
        names = state.board.names if state.scaling.dim else []
        if not names:
            return Standing(0, math.nan, (), (), (), (), (), (), 0.0, self.classes is None)
        board, records = state.board, state.board.records.up_to_date()
        *losses, loss = records.losses.means().tolist()
        terms = state.labelled.first().terms
        bought = terms[terms[:, 0] < 1]
        standing = Standing(
            records.losses.labels,
            loss,
            tuple(names),
            tuple(losses),
            tuple(board.aggregation.weights.tolist()),
            tuple(records.losses.standard_errors().tolist()),
            tuple(place for place, name in enumerate(names) if name.startswith(("constant", "Dummy"))),
            tuple(board.at_random),
            float(bought[:, 2].mean()) if len(bought) else 1.0,
            self.classes is None,
            class_errors=records.classes.of(list(map(str, self.classes or ()))),
        )
        best, share = standing.best_at_random, standing.share_at_random
        if best is None:
            return standing
        found = records.curve.with_all(board.at_random.index(best), share, records.losses.labels)
        return replace(standing, all_at_random=found)

    def without_fits(self) -> Model:
        """Return one whose only expert is a constant; for classes Δ depends on all of them."""
        from sklearn.dummy import DummyRegressor

        from qufur.models.experts.refit import Refit

        return Refit(DummyRegressor(), dim=self.dim) if self.label_free else self

    # Labels and files

    def estimators(self) -> dict[str, Any]:
        mine = (part for part in fields(self) for part in _listed(getattr(self, part.name)))
        return {type(part).__name__: part for part in mine if hasattr(part, "get_params")}

    def encode_labels(self, labels: Any) -> Any:
        """Return the numbers of classes; labels that are numbers stay as they are."""
        if self.classes is None:
            return labels
        values = [labels] if isinstance(labels, str) else np.asarray(labels).ravel().tolist()
        number_of = {value: number for number, value in enumerate(self.classes)}
        unknown = [value for value in values if value not in number_of]
        if unknown:
            classes = ", ".join(map(repr, self.classes[:8])) + ", …" * (len(self.classes) > 8)
            raise invalid("label", type(self).__name__, f"one of {classes}", repr(unknown[0]))
        return np.array([number_of[value] for value in values], dtype=np.float64)

    def decode_predictions(self, predictions: Floats) -> Any:
        if self.classes is None:
            return predictions
        return np.array(self.classes)[predictions.astype(np.int64)]

    def decode_prediction_one(self, prediction: float) -> Any:
        return prediction if self.classes is None else self.classes[int(prediction)]

    def example_labels(self, numbers: Floats) -> Floats:
        """Cut the numbers at multiples of 1/4 into classes, if there are classes."""
        if self.classes is None:
            return numbers
        return np.clip(np.floor(4 * numbers + self.output_count / 2), 0, self.output_count - 1)

    def describe(self) -> dict[str, Any]:
        """Return the arguments that make the model; estimators by name and parameters."""
        return {part.name: describe(getattr(self, part.name)) for part in fields(self)}

    @classmethod
    def from_description(cls, description: dict[str, Any], estimators: Mapping[str, Any]) -> Committee:
        return cls(**{name: revive(value, estimators) for name, value in description.items()})


def _as_classes(classes: Any, owner: str) -> tuple[Any, ...] | None:
    if classes is None:
        return None
    values = tuple(classes.tolist() if isinstance(classes, np.ndarray) else classes)
    plain = all(
        isinstance(value, str | int) or (isinstance(value, float) and not math.isnan(value))
        for value in values
    )
    if len(values) < 2 or not plain or len(set(values)) < len(values):
        raise invalid("classes", owner, "at least two different strings or numbers, not nan", repr(classes))
    return values


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)
