"""Optional abilities of models: a model inherits those that it has, callers check with `isinstance`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from qufur.arrays import Bools, Floats
from qufur.errors import InvalidError, invalid
from qufur.models.base import Model, State


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


class UsesEstimators(ABC):
    """Model with third-party estimators, which files store by name only."""

    @abstractmethod
    def estimators(self) -> dict[str, Any]:
        """Return these estimators by class name."""


class PlansWithoutExperts(ABC):
    """Model that learns slowly, and knows a fast one with the same queries for simulations."""

    @abstractmethod
    def without_experts(self) -> Model:
        """Return a model with the same Δ that learns faster, to simulate the queries."""


def cannot_widen(model: Model) -> InvalidError:
    """Build the error for a model that accepts no further columns."""
    allowed = "one that accepts additional columns, such as Experts or Ridge"
    remedy = "Pass all columns to this model from the start."
    return invalid("model", "Learner.widen", allowed, type(model).__name__, remedy)
