"""What a model is: predictions and uncertainties, and a state that learns."""

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
from qufur.models.diagnostics.fit import Fit
from qufur.models.diagnostics.outliers import KnownRange

if TYPE_CHECKING:
    from qufur.models.diagnostics.standing import Standing
    from qufur.models.experts.fitting import Fitted, Fitting
    from qufur.models.lookahead import Lookahead, Reach

Id = int | str


class Purchases(NamedTuple):
    """On what terms some labels were bought.

    Attributes
    ----------
    probability, mean_probability
        p of each, and the mean of p over all examples up to it.
    at_random
        Whether its coin lay below the rule's floor: those labels are a uniform sample of the stream.
    """

    probability: Floats
    mean_probability: Floats
    at_random: Bools


class Model(ABC):
    """A description of what can be learned; the state lives in what `start` returns."""

    label_free: ClassVar[bool]
    """Whether Δ depends on inputs and queries only, never on labels."""
    monotone: ClassVar[bool]
    """Whether Δ never rises as queries are added."""
    bounded: ClassVar[bool]
    """Whether the state takes the same memory however much was learned, outstanding queries aside."""
    any_norm: ClassVar[bool]
    """Whether numbers stay right when the norms of inputs differ by many orders of magnitude."""
    quick: ClassVar[bool] = True
    """Whether it takes no time to speak of to try it with every instance of every rule."""
    scales_inputs: ClassVar[bool] = False
    """Whether Δ is measured in units that are learned from all inputs, those without a label included."""
    weighs_purchases: ClassVar[bool] = False
    """Whether it matters on what terms a label was bought."""
    dim: int | None
    """Number of input columns, or None where the first input decides."""

    @abstractmethod
    def start(self) -> State:
        """Return the state of a learner that has seen nothing."""

    @abstractmethod
    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the loss of each prediction, in the user's units."""

    def loss_one(self, prediction: float, label: float) -> float:
        """Return the loss of one prediction."""
        return float(self.loss(np.array([prediction]), np.array([label]))[0])

    @property
    @abstractmethod
    def loss_scale(self) -> float | None:
        """The largest loss of a prediction in range, for a label in range; None where that is learned."""

    @property
    def classifies(self) -> bool:
        """Whether labels are classes."""
        return getattr(self, "classes", None) is not None

    @property
    def given_range(self) -> tuple[float, float] | None:
        """The lowest and the highest label, where they were given."""
        return None

    def largest_loss(self, prediction: Floats) -> Floats:
        """Return the largest loss that each prediction may turn out to have, for labels in range."""
        return np.full(len(prediction), self.loss_scale)

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest loss that one prediction may turn out to have."""
        return float(self.largest_loss(np.array([prediction]))[0])

    def sizes(self, X: Floats) -> Floats | None:
        """Return ‖x‖² of each row as Δ sees it, or None where Δ does not compare with that."""
        return None

    def size_one(self, x: Floats, square: float) -> float | None:
        """Return ‖x‖² of one input as Δ sees it; `square` is that of its numbers."""
        sizes = self.sizes(x[None])
        return None if sizes is None else sizes.item()

    def outside(self, size: Floats, uncertainty: Floats) -> Floats:
        """Return how much of inputs lies outside what has been asked; at least so much if Δ is capped."""
        return np.ones_like(uncertainty)

    def capped(self, uncertainty: Floats) -> Bools:
        """Return which Δ would be larger if they were not capped."""
        return np.zeros(len(uncertainty), dtype=bool)

    @property
    def order_free(self) -> bool:
        """Whether what is learned does not depend on the order in which labels arrive."""
        return True

    @property
    def forgets(self) -> bool:
        """Whether what was learned counts less as the stream goes on, so that its place in it matters."""
        return False

    def check_labels(self, labels: Floats) -> None:  # noqa: B027  (most models learn any number)
        """Refuse labels that cannot be learned, before anything has changed; finite ones arrive here."""

    def example_labels(self, numbers: Floats) -> Floats:
        """Turn real numbers about 0 into labels of this model, for the contract checks."""
        return numbers

    def without_fits(self) -> Model:
        """Return a model with the same Δ that learns faster, to find out what would be queried."""
        return self

    def widened(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Return the model of inputs with further columns at the end, and its state, in place of this one.

        It is the state that would be there if the columns had been constants in all inputs so far. Models
        that cannot tell refuse.
        """
        allowed = "one that takes further columns, such as Experts or Ridge"
        remedy = "Give this one all columns from the start."
        raise invalid("model", "Learner.widen", allowed, type(self).__name__, remedy)

    def describe(self) -> dict[str, Any]:
        """Return the arguments that make the model, as values that JSON knows or NumPy's."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_description(cls, description: dict[str, Any], estimators: Mapping[str, Any]) -> Model:
        """Return the model that was described; `estimators` are those that a file can only name."""
        return cls(**description)

    def estimators(self) -> dict[str, Any]:
        """Return the estimators that a file can only name, by the names of their classes."""
        return {}

    def encode_labels(self, labels: Any) -> Any:
        """Return labels as numbers; those that have none are refused."""
        return labels

    def decode_predictions(self, predictions: Floats) -> Any:
        """Return predictions as the user knows them: numbers, or the classes that were named."""
        return predictions

    def decode_prediction_one(self, prediction: float) -> Any:
        """Return one prediction as the user knows it."""
        return prediction

    @classmethod
    @abstractmethod
    def examples(cls, dim: int) -> Sequence[Model]:
        """Return small instances for inputs of dimension `dim`, for the contract checks."""


class State(ABC):
    """What a learner knows. `query` and `label` are separate: labels may come late, or never.

    Attributes
    ----------
    pending
        Inputs whose label was asked for and has not come, by id.
    device
        The device of torch on which blocks are decided; None is the host. It is no part of what is saved.
    """

    pending: dict[Id, Floats]
    device: Any = None

    @abstractmethod
    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row, where there are classes."""
        raise NotImplementedError

    def predictor(self) -> Callable[[Floats], Floats]:
        """Return a function that goes on predicting as the state does now."""
        return copy.deepcopy(self).predict

    @abstractmethod
    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the one input that is next in the stream; `square` is ‖x‖².

        If the label of an input is asked for by `query` next, it is that of this one.
        """
        return self.predict(x[None]).item(), self.uncertainty(x[None]).item()

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest loss that it may turn out to have, where the range of labels is learned.

        It is 0 while that is not known.
        """
        return 0.0

    def known_range(self) -> KnownRange | None:
        """Return the range of labels as far as it was learned; None where none is."""
        return None

    def interval_bounds(self) -> tuple[float, float] | None:
        """Return the ends that prediction intervals are clipped to; None where no range is learned."""
        return None

    def reach(self, at_once: bool) -> Reach:
        """Return how far it pays to look ahead, where a rule decides blocks at once or in many offers."""
        from qufur.models.lookahead import Reach

        return Reach()

    @property
    def takes_device(self) -> bool:
        """Whether blocks can be decided on a device of torch."""
        return False

    @abstractmethod
    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X, or over as many of the first as can be taken together."""

    def look_ahead_unlabelled(self, X: Floats) -> Lookahead:
        """Look ahead over rows during which no label comes; for most models that makes no difference."""
        return self.look_ahead(X)

    def expect(self, X: Any) -> None:  # noqa: B027
        """Note that a look-ahead over X, this very tensor, is likely to come next: a device may begin."""

    def note_purchases(self, ids: Sequence[Id], purchases: Purchases) -> None:  # noqa: B027
        """Note on what terms labels are bought that `query`, or a look-ahead as it finishes, is told of next.

        Only models that weigh purchases are told.
        """

    def said_of(self, ids: Sequence[Id]) -> Floats | None:
        """Return what every expert and then all together said of pending queries; None for other models."""
        return None

    def note_said(self, ids: Sequence[Id], said: Floats) -> None:  # noqa: B027
        """Note what was said of inputs that `query`, or a look-ahead as it finishes, is told of next.

        It counts in place of what would be said now. Only committees are told.
        """

    def unheard(self) -> AbstractContextManager[None]:
        """Return a context in which inputs are taken in and what would be said of them counts for nothing."""
        return nullcontext()

    @abstractmethod
    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for: Δ falls now, predictions do not change."""

    @abstractmethod
    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries."""

    @abstractmethod
    def retract(self, id: Id) -> None:
        """Forget a pending query whose label will never come."""

    @abstractmethod
    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for."""

    def purchases_of(self, ids: Sequence[Id]) -> Purchases | None:
        """Return the terms of pending queries; None for models that do not weigh purchases."""
        return None

    def purchases_at(self, places: Sequence[int]) -> Purchases | None:
        """Return the terms of labelled rows, by their places in the order of labels, as `purchases_of`."""
        return None

    def learn_bought(self, X: Floats, labels: Floats, purchases: Purchases) -> None:
        """Learn labels of queries that were retracted or forgotten, on the terms of their purchase."""
        self.learn(X, labels)

    def as_pending(self, X: Floats) -> Floats:
        """Return inputs as `pending` would have them, for whoever may want to `relearn` them."""
        raise NotImplementedError

    def relearn(self, rows: Floats, labels: Floats) -> None:
        """Learn again, with other labels, all rows that have one, as they were pending; others stay so."""
        raise NotImplementedError

    def forget(self, places: Sequence[int], rows: Floats, labels: Floats) -> None:
        """Unlearn labelled rows by their places in the order of labels; the rows and labels stay that follow.

        Queries and labels are then as if these had not been asked for.
        """
        raise NotImplementedError

    def recorded(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return what follows from recorded decisions and labels bit for bit, pending rows aside.

        It is what neither BLAS nor compiled loops have a part in; for most models there is no more.
        """
        return {}

    def fit_elsewhere(self) -> None:  # noqa: B027  (most learn from a label at once)
        """Leave fits that take long to whoever asks for `due_fit`, from now on."""

    def due_fit(self) -> Fitting | None:
        """Return what is to be fitted, if anything is."""
        return None

    def install_fit(self, fitted: Fitted) -> bool:
        """Go on with what was fitted, and return True, unless it has been overtaken."""
        raise self._no_fits()

    def refit(self, values: Mapping[str, Any]) -> None:
        """Go on with what the values of a fit describe."""
        raise self._no_fits()

    def _no_fits(self) -> InvalidError:
        return invalid("model", "Learner.refit", "one with experts", "one that learns every label at once")

    def fit(self) -> Fit | None:
        """Return what the labels so far say about the model; None where it has no residuals to judge by."""
        return None

    def fit_later(self) -> Callable[[], Fit | None]:
        """Return a function that computes `fit` as of now, in any thread, whatever is learned later."""
        found = self.fit()
        return lambda: found

    def standing(self) -> Standing | None:
        """Return how the experts of a committee are doing; None for other models."""
        return None

    def advance(self, count: int) -> None:  # noqa: B027  (most states know no time)
        """Note that so many examples were decided; look-aheads say so as they finish."""

    @abstractmethod
    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays.

        Values have the keys and types of a fresh state; lists and axes that are empty there may grow.
        """

    @abstractmethod
    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
