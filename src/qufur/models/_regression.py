"""Base classes of regression: `Regression` (label range, squared loss) and `LeastSquares` (λ and Δ)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qufur import arrays
from qufur.arrays import LARGEST, Bools, Floats, Numbers, clipped, lesser, set_fields
from qufur.errors import invalid
from qufur.models.base import Model
from qufur.models.capabilities import ExplainsUncertainty, Widens
from qufur.models.gram.posterior import Posterior
from qufur.models.labels import LabelCodec, RealLabels


@dataclass(frozen=True, kw_only=True)
class Regression(Model):
    """Model of real labels, mapped to [−1, 1] internally.

    Parameters
    ----------
    clip
        Whether predictions are clipped to `label_range`.
    label_range
        Lowest and highest label in the user's units. Noisy labels may lie outside.
    """

    clip: bool = True
    label_range: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        set_fields(
            self,
            clip=as_flag(self.clip, "clip", owner),
            label_range=as_range(self.label_range, owner),
        )

    def scaled(self, labels: Numbers) -> Numbers:
        """Map labels to [−1, 1]."""
        middle, unit = self._scale
        return (labels - middle) / unit

    def unscaled(self, scores: Numbers) -> Numbers:
        """Map scores to the user's units; with `clip`, clip them to `label_range`."""
        middle, unit = self._scale
        return (clipped(scores) if self.clip else scores) * unit + middle

    @cached_property
    def _scale(self) -> tuple[float, float]:
        low, high = self.label_range
        return (low + high) / 2, (high - low) / 2

    def loss(self, prediction: Numbers, label: Numbers) -> Numbers:
        """Return the squared loss."""
        error = prediction - label
        return error * error

    loss_one = loss

    @property
    def loss_scale(self) -> float:
        low, high = self.label_range
        return (high - low) ** 2

    @cached_property
    def label_codec(self) -> LabelCodec:  # type: ignore[override]
        """Codec of numbers; without `clip` the label range only sets the units and bounds nothing."""
        return RealLabels(self.label_range if self.clip else None)

    def largest_loss(self, prediction: Floats) -> Floats:
        low, high = self.label_range
        return np.maximum(abs(prediction - low), abs(high - prediction)) ** 2

    def largest_loss_one(self, prediction: float) -> float:
        low, high = self.label_range
        error = max(abs(prediction - low), abs(high - prediction))
        return error * error


def as_flag(value: Any, parameter: str, owner: str) -> bool:
    """Return a bool; raise `InvalidError` for any other type."""
    if not isinstance(value, bool | np.bool_):
        raise invalid(parameter, owner, "True or False", repr(value))
    return bool(value)


def as_range(value: Any, owner: str) -> tuple[float, float]:
    """Return the lowest and the highest label; raise `InvalidError` unless low < high and both are finite."""
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError, OverflowError):
        low, high = 0.0, 0.0
    if not (low < high and np.isfinite(high - low)):
        raise invalid("label_range", owner, "two finite numbers (low, high) with low < high", repr(value))
    if not arrays.has_square(high - low):
        raise invalid(
            "label_range", owner, "such that (high - low)² neither overflows nor underflows", repr(value)
        )
    return low, high


@dataclass(frozen=True, kw_only=True)
class LeastSquares(Regression, ExplainsUncertainty, Widens):
    """Regularised least squares on labels mapped to [−1, 1], with Δ = η̃² min(1, ‖x‖² in M⁻¹).

    See `Ridge` for the parameters.
    """

    norm_bound: float = 1.0
    regularization: float | None = None
    noise: float = 1.0
    cap: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        set_uncertainty(self)

    @property
    def penalty(self) -> float:
        """λ: `regularization`, or 1/C² without it."""
        return self.norm_bound**-2.0 if self.regularization is None else self.regularization

    @abstractmethod
    def features(self, X: Floats) -> Floats:
        """Return the rows as they enter the posterior."""

    def feature_one(self, x: Floats) -> Floats:
        """Return one row as it enters the posterior."""
        return np.asarray(self.features(x[None])[0])

    @abstractmethod
    def posterior(self) -> Posterior:
        """Return an empty posterior."""

    @abstractmethod
    def restored(self, arrays: dict[str, np.ndarray[Any, Any]]) -> Posterior:
        """Return the posterior stored in `arrays`."""

    def uncertainty_of(self, variance: Numbers) -> Numbers:
        """Return Δ for ‖x‖² in M⁻¹."""
        return self.noise_scale * lesser(self.variance_cap, variance)

    @cached_property
    def variance_cap(self) -> float:
        """Variance at which Δ is capped."""
        return 1.0 if self.cap else math.inf

    @cached_property
    def noise_scale(self) -> float:
        """η̃² = max(1, η)²."""
        return max(1.0, self.noise) ** 2

    def unexplained_share(self, size: Floats, uncertainty: Floats) -> Floats:
        """Return λ · (‖x‖² in M⁻¹)/‖x‖²: 1 if all queries are orthogonal to x, near 0 if many are similar."""
        with np.errstate(all="ignore"):
            share = self.penalty * uncertainty / (self.noise_scale * size)
        return np.where(size > 0, np.fmin(1.0, share), 0.0)

    def capped(self, uncertainty: Floats) -> Bools:
        return np.asarray(self.cap & (uncertainty >= self.noise_scale))


def set_uncertainty(model: Any) -> None:
    """Check and set the parameters of Δ of a model: C, λ, η and the cap."""
    owner = type(model).__name__
    norm_bound = arrays.as_number(model.norm_bound, "norm_bound", owner, low=0)
    if not arrays.has_square(norm_bound):
        raise invalid(
            "norm_bound", owner, "such that 1/C² neither overflows nor underflows", model.norm_bound
        )
    penalty = model.regularization
    if penalty is not None:
        penalty = arrays.as_number(penalty, "regularization", owner, low=0)
        if not 1 / LARGEST <= penalty <= LARGEST:
            raise invalid("regularization", owner, f"between {1 / LARGEST:g} and {LARGEST:g}", penalty)
    set_fields(
        model,
        norm_bound=norm_bound,
        regularization=penalty,
        noise=arrays.as_noise(model.noise, owner),
        cap=as_flag(model.cap, "cap", owner),
    )
