"""Base classes of models: `Model`, a frozen description, and `State`, which learns."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.errors import InvalidError, invalid
from qufur.ids import Id
from qufur.models.diagnostics.fit import Fit
from qufur.models.diagnostics.outliers import ObservedRange

if TYPE_CHECKING:
    from qufur.models.ensemble.fits import FitJob, FitResult
    from qufur.models.ensemble.report import EnsembleReport
    from qufur.models.lookahead import BlockLimits, Lookahead


class Purchases(NamedTuple):
    """Terms of purchase of some labels, one entry per label.

    Attributes
    ----------
    probability, mean_probability
        Query probability p, and the mean of p over all examples up to this one.
    at_random
        Whether the uniform draw was below the rule's floor: such labels are a uniform sample of the stream.
    """

    probability: Floats
    mean_probability: Floats
    at_random: Bools


class Model(ABC):
    """Description of a model, immutable; `start` creates the state that learns."""

    label_free: ClassVar[bool]
    """Whether Δ depends on inputs and queries only, never on labels."""
    monotone: ClassVar[bool]
    """Whether Δ never increases as queries are added."""
    bounded: ClassVar[bool]
    """Whether the memory of the state is bounded, apart from pending queries."""
    any_norm: ClassVar[bool]
    """Whether results stay accurate when the norms of inputs differ by many orders of magnitude."""
    quick: ClassVar[bool] = True
    """Whether the model is fast enough for contract checks with every instance of every rule."""
    scales_inputs: ClassVar[bool] = False
    """Whether Δ uses units learned from all inputs, labelled or not."""
    weighs_purchases: ClassVar[bool] = False
    """Whether the model uses the terms of purchase of its labels."""
    dim: int | None
    """Number of input columns; None if the first input sets it."""

    @abstractmethod
    def start(self) -> State:
        """Return the state before any query or label."""

    @abstractmethod
    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the loss of each prediction, in the user's units."""

    def loss_one(self, prediction: float, label: float) -> float:
        """Return the loss of one prediction."""
        return float(self.loss(np.array([prediction]), np.array([label]))[0])

    @property
    @abstractmethod
    def loss_scale(self) -> float | None:
        """Largest loss of a prediction in range for a label in range; None if the range is learned."""

    @property
    def classifies(self) -> bool:
        """Whether labels are classes."""
        return getattr(self, "classes", None) is not None

    @property
    def given_range(self) -> tuple[float, float] | None:
        """Lowest and highest label that the user declared; None without one."""
        return None

    def largest_loss(self, prediction: Floats) -> Floats:
        """Return the largest possible loss of each prediction, for labels in range."""
        return np.full(len(prediction), self.loss_scale)

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest possible loss of one prediction."""
        return float(self.largest_loss(np.array([prediction]))[0])

    def squared_norms(self, X: Floats) -> Floats | None:
        """Return ‖x‖² of each row in the space of Δ; None if Δ is not a squared norm."""
        return None

    def squared_norm(self, x: Floats, square: float) -> float | None:
        """Return ‖x‖² of one input in the space of Δ; `square` is ‖x‖² of the raw input."""
        squared_norms = self.squared_norms(x[None])
        return None if squared_norms is None else squared_norms.item()

    def unexplained_share(self, size: Floats, uncertainty: Floats) -> Floats:
        """Return the share of each input outside the span of the queries; a lower bound if Δ is capped.

        `size` is ‖x‖² in the space of Δ, as `squared_norms` returns it.
        """
        return np.ones_like(uncertainty)

    def capped(self, uncertainty: Floats) -> Bools:
        """Return a mask of the Δ that reached the cap."""
        return np.zeros(len(uncertainty), dtype=bool)

    @property
    def order_free(self) -> bool:
        """Whether the state is independent of the order in which labels arrive."""
        return True

    @property
    def forgets(self) -> bool:
        """Whether older labels lose weight, so that the position in the stream matters."""
        return False

    def check_labels(self, labels: Floats) -> None:  # noqa: B027  (most models learn any number)
        """Raise `InvalidError` for labels that the model cannot learn; called before any change.

        All labels are finite.
        """

    def example_labels(self, numbers: Floats) -> Floats:
        """Map real numbers around 0 to labels of this model, for the contract checks."""
        return numbers

    def without_experts(self) -> Model:
        """Return a model with the same Δ that learns faster, to simulate the queries."""
        return self

    def with_columns(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Return this model and its state with columns appended to the inputs.

        The new state is the one that the same stream would have produced if the new columns had contained
        `constants` in all inputs so far.

        Raises
        ------
        InvalidError
            If the model cannot compute that state.
        """
        allowed = "one that accepts additional columns, such as Experts or Ridge"
        remedy = "Pass all columns to this model from the start."
        raise invalid("model", "Learner.widen", allowed, type(self).__name__, remedy)

    def describe(self) -> dict[str, Any]:
        """Return the constructor arguments, as JSON values or NumPy arrays."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_description(cls, description: dict[str, Any], estimators: Mapping[str, Any]) -> Model:
        """Build a model from `describe`; `estimators` supplies those that a file stores by name only."""
        return cls(**description)

    def estimators(self) -> dict[str, Any]:
        """Return the estimators that a file stores by name only, keyed by class name."""
        return {}

    def encode_labels(self, labels: Any) -> Any:
        """Return labels as numbers; raise `InvalidError` for unknown classes."""
        return labels

    def decode_predictions(self, predictions: Floats) -> Any:
        """Return predictions in the user's terms: numbers, or class names."""
        return predictions

    def decode_prediction_one(self, prediction: float) -> Any:
        """Return one prediction in the user's terms."""
        return prediction

    @classmethod
    @abstractmethod
    def examples(cls, dim: int) -> Sequence[Model]:
        """Return small instances for inputs of dimension `dim`, for the contract checks."""


class State(ABC):
    """State of a model. A query and its label are separate events; the label may arrive late or never.

    Attributes
    ----------
    pending
        Queried inputs whose label has not arrived, by id.
    device
        Torch device that decides blocks; None is NumPy on the host. It is not saved.
    """

    pending: dict[Id, Floats]
    device: Any = None

    @abstractmethod
    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row. Classifiers only."""
        raise NotImplementedError

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that predicts from a frozen copy of the current state."""
        return copy.deepcopy(self).predict

    @abstractmethod
    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the next input of the stream; `square` is ‖x‖².

        If `query` follows, it is for this input.
        """
        return self.predict(x[None]).item(), self.uncertainty(x[None]).item()

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest possible loss under a learned label range; 0 until a range is observed."""
        return 0.0

    def observed_range(self) -> ObservedRange | None:
        """Return the label range learned so far; None if the model does not learn one."""
        return None

    def interval_bounds(self) -> tuple[float, float] | None:
        """Return the bounds that clip prediction intervals; None if the model does not learn a range."""
        return None

    def block_limits(self, at_once: bool) -> BlockLimits:
        """Return the block sizes worth looking ahead over.

        `at_once` tells whether the rule decides a block in one offer or in several.
        """
        from qufur.models.lookahead import BlockLimits

        return BlockLimits()

    @property
    def takes_device(self) -> bool:
        """Whether a torch device can decide blocks."""
        return False

    @abstractmethod
    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X, or over the longest prefix that fits into one block."""

    def look_ahead_unlabelled(self, X: Floats) -> Lookahead:
        """Look ahead over rows during which no label arrives; most models ignore the difference."""
        return self.look_ahead(X)

    def prefetch(self, X: Any) -> None:  # noqa: B027
        """Start work on X on the device. The next look-ahead probably takes this tensor."""

    def note_purchases(self, ids: Sequence[Id], purchases: Purchases) -> None:  # noqa: B027
        """Record the terms of purchase of the queries that follow.

        They reach the state through `query` or through a look-ahead that finishes. Called only for models
        with `weighs_purchases`.
        """

    def expert_outputs_of(self, ids: Sequence[Id]) -> Floats | None:
        """Return outputs of each expert, then of the ensemble, for pending queries; None for other models."""
        return None

    def record_expert_outputs(self, ids: Sequence[Id], outputs: Floats) -> None:  # noqa: B027
        """Supply recorded expert outputs for the queries that follow, in place of new predictions.

        The queries reach the state through `query` or through a look-ahead that finishes. Only ensembles
        use them.
        """

    def without_predictions(self) -> AbstractContextManager[None]:
        """Context manager that accepts inputs without running the experts; replay supplies their outputs."""
        return nullcontext()

    @abstractmethod
    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Record queries for the labels of these rows: Δ falls now, predictions do not change."""

    @abstractmethod
    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""

    @abstractmethod
    def retract(self, id: Id) -> None:
        """Remove a pending query whose label will never arrive."""

    @abstractmethod
    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not queried."""

    def purchases_of(self, ids: Sequence[Id]) -> Purchases | None:
        """Return the terms of purchase of pending queries; None for models that ignore them."""
        return None

    def purchases_at(self, places: Sequence[int]) -> Purchases | None:
        """Return the terms of purchase of labelled rows, by index in the order of labels.

        None for models that ignore them.
        """
        return None

    def learn_bought(self, X: Floats, labels: Floats, purchases: Purchases) -> None:
        """Learn labels of queries that were retracted or unlearned, with their terms of purchase."""
        self.learn(X, labels)

    def stored_rows(self, X: Floats) -> Floats:
        """Return inputs in the form that `pending` stores and `relabel` takes."""
        raise NotImplementedError

    def relabel(self, rows: Floats, labels: Floats) -> None:
        """Replace the labels of all labelled rows and learn them again; pending queries stay pending.

        `rows` are in the form of `stored_rows`.
        """
        raise NotImplementedError

    def unlearn(self, places: Sequence[int], rows: Floats, labels: Floats) -> None:
        """Remove labelled rows by index in the order of labels, as if they had never been queried.

        `rows` and `labels` are those that remain, in the form of `stored_rows`.
        """
        raise NotImplementedError

    def replayable_arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays that recorded decisions and labels reproduce bit for bit, without pending rows.

        They involve neither BLAS nor compiled loops. Most models have none.
        """
        return {}

    def fit_elsewhere(self) -> None:  # noqa: B027  (most models learn each label immediately)
        """Defer long fits to a caller of `due_fit`, which runs them in another process."""

    def due_fit(self) -> FitJob | None:
        """Return the next fit to run, or None."""
        return None

    def install_fit(self, fitted: FitResult) -> bool:
        """Install a finished fit; return False if it is outdated."""
        raise self._no_fits()

    def refit(self, values: Mapping[str, Any]) -> None:
        """Repeat a recorded fit from its values."""
        raise self._no_fits()

    def _no_fits(self) -> InvalidError:
        return invalid("model", "Learner.refit", "one with experts", "one that learns each label immediately")

    def fit(self) -> Fit | None:
        """Return diagnostics of the model from the labels so far; None if it has no residuals."""
        return None

    def fit_later(self) -> Callable[[], Fit | None]:
        """Return a function that computes `fit` of the current state later, in any thread."""
        fit = self.fit()
        return lambda: fit

    def ensemble_report(self) -> EnsembleReport | None:
        """Return weights and losses of the experts of an ensemble; None for other models."""
        return None

    def advance(self, count: int) -> None:  # noqa: B027  (most states are independent of time)
        """Move on by `count` decided examples; look-aheads call it when they finish."""

    @abstractmethod
    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays.

        Values have the keys and types of a fresh state; lists and axes that are empty there may grow.
        """

    @abstractmethod
    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
