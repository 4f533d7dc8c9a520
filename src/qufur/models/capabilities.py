"""Optional abilities of models and of states: a class inherits those that it has.

Callers check with `isinstance`. `Widens`, `ExplainsUncertainty` and `HasExperts` are abilities of models; the
others are abilities of states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.errors import InvalidError, invalid
from qufur.pending import feature_rows

if TYPE_CHECKING:
    from qufur.models.base import Model, State
    from qufur.models.diagnostics.fit import Fit
    from qufur.models.diagnostics.outliers import ObservedRange
    from qufur.models.ensemble.fits import FitJob, FitResult
    from qufur.models.ensemble.report import EnsembleReport
    from qufur.pending import Pending
    from qufur.storage.container import Content


class Widens(ABC):
    """Model that accepts further input columns during a stream."""

    @abstractmethod
    def with_columns(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Return this model and its state with columns appended to the inputs.

        The new state is the one that the same stream would have produced if the new columns had contained
        `constants` in all inputs so far.

        Raises
        ------
        InvalidError
            If the model cannot compute that state.
        """


class ExplainsUncertainty(ABC):
    """Model whose Δ is a squared norm, so that answers can say how much of an input is new."""

    @abstractmethod
    def squared_norms(self, X: Floats) -> Floats | None:
        """Return ‖x‖² of each row in the space of Δ; None if Δ is not a squared norm."""

    def squared_norm(self, x: Floats, square: float) -> float | None:
        """Return ‖x‖² of one input in the space of Δ; `square` is ‖x‖² of the raw input."""
        squared_norms = self.squared_norms(x[None])
        return None if squared_norms is None else squared_norms.item()

    @abstractmethod
    def unexplained_share(self, size: Floats, uncertainty: Floats) -> Floats:
        """Return the share of each input outside the span of the queries; a lower bound if Δ is capped.

        `size` is ‖x‖² in the space of Δ.
        """

    @abstractmethod
    def capped(self, uncertainty: Floats) -> Bools:
        """Return a mask of the Δ that reached the cap."""


class HasExperts(ABC):
    """Model of named experts; a file may have been saved with others."""

    @abstractmethod
    def estimators(self) -> dict[str, Any]:
        """Return the third-party estimators, which files store by name only, by class name."""

    @abstractmethod
    def with_current_experts(self, content: Content) -> Content:
        """Return the content of a learner's file for the experts of this version."""

    @abstractmethod
    def without_experts(self) -> Model:
        """Return a model with the same Δ that learns faster, to simulate the queries."""


def cannot_widen(model: Model) -> InvalidError:
    """Build the error for a model that accepts no further columns."""
    allowed = "one that accepts additional columns, such as Experts or Ridge"
    remedy = "Pass all columns to this model from the start."
    return invalid("model", "Learner.widen", allowed, type(model).__name__, remedy)


class Probabilistic(ABC):
    """State of a classifier."""

    @abstractmethod
    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""


class LearnsRange(ABC):
    """State that learns the range of the labels, unless the model was given one."""

    @abstractmethod
    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest possible loss of a prediction; 0 until a range is observed."""

    @abstractmethod
    def observed_range(self) -> ObservedRange | None:
        """Return the range of the labels so far; None with classes or a given range."""

    @abstractmethod
    def interval_bounds(self) -> tuple[float, float] | None:
        """Return the bounds that clip prediction intervals; None without a learned range."""


def interval_bounds(state: State) -> tuple[float, float] | None:
    """Return the bounds that clip prediction intervals; None without a learned range."""
    return state.interval_bounds() if isinstance(state, LearnsRange) else None


class Relabels(ABC):
    """State whose labels can be replaced and removed."""

    @abstractmethod
    def stored_rows(self, X: Floats) -> Floats:
        """Return inputs of free labels in the form that `relabel` takes."""

    def queried_rows(self, queries: Sequence[Pending]) -> Floats:
        """Return the inputs of recorded queries in the form that `relabel` takes."""
        return feature_rows(queries)

    @abstractmethod
    def relabel(self, rows: Floats, labels: Floats) -> None:
        """Replace the labels of all labelled rows and learn them again; pending queries stay pending.

        `rows` are in the form of `stored_rows`.
        """

    @abstractmethod
    def unlearn(self, indices: Sequence[int], rows: Floats, labels: Floats) -> None:
        """Remove labelled rows by index in the order of labels, as if they had never been queried.

        `rows` and `labels` are those that remain, in the form of `stored_rows`.
        """


class KeepsPurchases(ABC):
    """State that stores the terms of purchase, so that a label can be removed and given again."""

    @abstractmethod
    def purchases_at(self, indices: Sequence[int]) -> Floats:
        """Return the terms of labelled rows, by index in the order of labels; see `purchase_terms`."""

    @abstractmethod
    def learn_bought(self, queries: Sequence[Pending], X: Floats, labels: Floats) -> None:
        """Learn labels of queries that were retracted or unlearned, with their terms of purchase."""


class Replayable(ABC):
    """State whose predictions cannot be computed again bit for bit, so that a log records them.

    A query whose `expert_outputs` are set keeps them; the state fills in those of other queries.
    """

    @abstractmethod
    def without_predictions(self) -> AbstractContextManager[None]:
        """Context manager that accepts inputs without running the experts; replay supplies their outputs."""

    @abstractmethod
    def replayable_arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays that recorded decisions and labels reproduce bit for bit, without pending rows.

        They involve neither BLAS nor compiled loops.
        """


class FitsInBackground(ABC):
    """State with long fits, which another thread or process can run; see `Learner.background_fits`."""

    @abstractmethod
    def defer_fits(self) -> None:
        """Leave long fits to the caller of `next_fit`."""

    @abstractmethod
    def next_fit(self) -> FitJob | None:
        """Return the next fit to run, or None."""

    @abstractmethod
    def install_fit(self, fitted: FitResult) -> bool:
        """Install a finished fit; return False if it is outdated."""

    @abstractmethod
    def replay_fit(self, values: Mapping[str, Any]) -> None:
        """Repeat a recorded fit from its values."""


class OnDevice(ABC):
    """State that can decide blocks on a torch device."""

    device: Any = None
    """The device; None is NumPy on the host. It is not saved."""

    @property
    @abstractmethod
    def takes_device(self) -> bool:
        """Whether a device can decide blocks with these parameters."""

    @abstractmethod
    def prefetch(self, X: Any) -> None:
        """Start work on X on the device. The next look-ahead probably takes this tensor."""


class FreezesDiagnostics(ABC):
    """State whose diagnostics can be computed later, in any thread."""

    @abstractmethod
    def fit_later(self) -> Callable[[], Fit | None]:
        """Return a function that computes `fit` of the current state."""


class ReportsExperts(ABC):
    """State of an ensemble."""

    @abstractmethod
    def ensemble_report(self) -> EnsembleReport | None:
        """Return weights and losses of the experts."""


def ensemble_report(state: State) -> EnsembleReport | None:
    """Return weights and losses of the experts of an ensemble; None for other models."""
    return state.ensemble_report() if isinstance(state, ReportsExperts) else None
