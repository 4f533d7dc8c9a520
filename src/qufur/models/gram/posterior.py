"""What a look-ahead needs of a posterior, and what a block of rows looks like to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.misfit import MisfitTests
from qufur.models.gram.update import Update


class View(ABC):
    """A block of rows as a posterior sees them, with what was computed on the way kept for its end.

    Attributes
    ----------
    X, variance
        The rows, and q = ‖x‖² in M⁻¹ of each.
    """

    X: Floats
    variance: Floats

    @abstractmethod
    def scores(self) -> Floats:
        """Return the prediction of each row."""

    @abstractmethod
    def among(self, rows: Ints) -> Floats:
        """Return the covariances of some rows among themselves, in an array that is the caller's."""

    @abstractmethod
    def update(self, rows: Ints, L: Floats) -> Update:
        """Return some rows, ready to be absorbed."""

    @abstractmethod
    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        """Return the covariances of such rows with all that come later in the block.

        Those with rows before them may be anything. The array is the caller's.
        """


class Posterior(Protocol):
    """Least squares after some rows: variances and covariances from M, predictions from the labels."""

    @property
    def sequential_only(self) -> bool:
        """Whether rows must enter one after the other: differences of large numbers would lose digits."""

    def variance(self, X: Floats) -> Floats:
        """Return q = ‖x‖² in M⁻¹ of each row."""

    def scores(self, X: Floats) -> Floats:
        """Return the prediction of each row."""

    def scorer(self) -> Callable[[Floats], Floats]:
        """Return a function that goes on scoring as the posterior does now."""

    def score_one(self, x: Floats) -> float:
        """Return the prediction of one row."""

    def posterior_one(self, x: Floats) -> tuple[float, Floats | None]:
        """Return q of one row, and M⁻¹x if that was computed on the way."""

    def view(self, X: Floats) -> View:
        """Return a block of rows as the posterior sees them now."""

    def squares(self, X: Floats) -> float:
        """Return Σ‖x‖² of some rows, for `prepare_for`."""

    def prepare_for(self, squares: float) -> None:
        """Get ready for rows of such a Σ‖x‖² that may be absorbed."""

    def update(self, X: Floats) -> Update:
        """Prepare a few rows for `absorb`."""

    def covariance(self, rows: Update, X: Floats) -> Floats:
        """Return the covariances of rows about to be absorbed with those of X."""

    def absorb(self, rows: Update, y: Floats | None = None) -> Floats:
        """Add rows with labels y, or rows of which only M needs to know.

        Returns how far each label was off, in its own scale.
        """

    def add(self, X: Floats, y: Floats | None = None) -> None:
        """Add rows that nobody looked ahead to."""

    def evidence(self, regularization: float) -> Evidence:
        """Return what the labels say about noise and λ; `regularization` is the λ in M."""

    def tested(self) -> MisfitTests:
        """Return the tests of the labels' errors."""

    def copy(self) -> Any:
        """Return an independent copy."""

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything the posterior consists of."""
