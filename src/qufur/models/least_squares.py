"""What linear and kernel least squares have in common: λ, Δ, and the user's label range."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Bools, Floats, Numbers, as_noise, as_number, has_square, lesser, set_fields
from qufur.errors import invalid
from qufur.models.gram.posterior import Posterior
from qufur.models.regression import Regression, as_flag


@dataclass(frozen=True, kw_only=True)
class LeastSquares(Regression):
    """Regularised least squares on labels mapped to [−1, 1], with Δ = η̃² min(1, ‖x‖² in M⁻¹).

    `Ridge` describes the parameters.
    """

    label_free = True
    monotone = True

    norm_bound: float = 1.0
    regularization: float | None = None
    noise: float = 1.0
    cap: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        set_uncertainty(self)

    @property
    def penalty(self) -> float:
        """λ."""
        return self.norm_bound**-2.0 if self.regularization is None else self.regularization

    @abstractmethod
    def features(self, X: Floats) -> Floats:
        """Return the rows as the posterior takes them."""

    def feature_one(self, x: Floats) -> Floats:
        """Return one row as the posterior takes it."""
        return np.asarray(self.features(x[None])[0])

    @abstractmethod
    def sizes(self, X: Floats) -> Floats:
        """Return ‖x‖² of each row, in the space that is linear."""

    @abstractmethod
    def posterior(self) -> Posterior:
        """Return least squares before any row."""

    @abstractmethod
    def restored(self, arrays: dict[str, np.ndarray[Any, Any]]) -> Posterior:
        """Return the posterior that its `arrays` described."""

    def uncertainty_of(self, variance: Numbers) -> Numbers:
        """Return Δ for ‖x‖² in M⁻¹."""
        return self.noise_scale * lesser(self.variance_cap, variance)

    @cached_property
    def variance_cap(self) -> float:
        """The variance at which Δ is capped."""
        return 1.0 if self.cap else math.inf

    @cached_property
    def noise_scale(self) -> float:
        """η̃²."""
        return max(1.0, self.noise) ** 2

    def outside(self, size: Floats, uncertainty: Floats) -> Floats:
        """Return λ‖x‖² in M⁻¹ over ‖x‖²: 1 if no query has anything in common with x, near 0 if many do."""
        with np.errstate(all="ignore"):
            share = self.penalty * uncertainty / (self.noise_scale * size)
        return np.where(size > 0, np.fmin(1.0, share), 0.0)

    def capped(self, uncertainty: Floats) -> Bools:
        return np.asarray(self.cap & (uncertainty >= self.noise_scale))


def set_uncertainty(model: Any) -> None:
    """Check and set the options of a model that its Δ comes from: C, λ, η and the cap."""
    owner = type(model).__name__
    norm_bound = as_number(model.norm_bound, "norm_bound", owner, low=0)
    if not has_square(norm_bound):
        raise invalid("norm_bound", owner, "such that 1/C² is a number", model.norm_bound)
    penalty = model.regularization
    if penalty is not None:
        penalty = as_number(penalty, "regularization", owner, low=0)
        if not 1 / LARGEST <= penalty <= LARGEST:
            raise invalid("regularization", owner, f"between {1 / LARGEST:g} and {LARGEST:g}", penalty)
    set_fields(
        model,
        norm_bound=norm_bound,
        regularization=penalty,
        noise=as_noise(model.noise, owner),
        cap=as_flag(model.cap, "cap", owner),
    )
