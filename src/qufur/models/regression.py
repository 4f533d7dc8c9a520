"""What all models of real labels have in common: the user's label range, and the squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qufur.arrays import Floats, Numbers, clipped, has_square, set_fields
from qufur.errors import invalid
from qufur.models.base import Model


@dataclass(frozen=True, kw_only=True)
class Regression(Model):
    """A model of real labels, which it sees mapped to [−1, 1].

    Parameters
    ----------
    clip
        Whether predictions are clipped to `label_range`.
    label_range
        The user's (lowest, highest) label. Noise may carry labels beyond it.
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
        """Map scores to the user's units, clipped if wanted."""
        middle, unit = self._scale
        return (clipped(scores) if self.clip else scores) * unit + middle

    @cached_property
    def _scale(self) -> tuple[float, float]:
        low, high = self.label_range
        return (low + high) / 2, (high - low) / 2

    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return the squared loss."""
        return (prediction - label) ** 2

    @property
    def loss_scale(self) -> float:
        low, high = self.label_range
        return (high - low) ** 2

    @property
    def given_range(self) -> tuple[float, float] | None:
        """The label range, if it is to be kept to: without `clip` it only sets the units."""
        return self.label_range if self.clip else None

    def largest_loss(self, prediction: Floats) -> Floats:
        low, high = self.label_range
        return np.maximum(abs(prediction - low), abs(high - prediction)) ** 2

    def loss_one(self, prediction: float, label: float) -> float:
        error = prediction - label
        return error * error

    def largest_loss_one(self, prediction: float) -> float:
        low, high = self.label_range
        most = max(abs(prediction - low), abs(high - prediction))
        return most * most


def as_flag(value: Any, parameter: str, owner: str) -> bool:
    """Return True or False, and refuse all else."""
    if not isinstance(value, bool | np.bool_):
        raise invalid(parameter, owner, "True or False", repr(value))
    return bool(value)


def as_range(value: Any, owner: str) -> tuple[float, float]:
    """Return a lowest and a highest label, or complain."""
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError, OverflowError):
        low, high = 0.0, 0.0
    if not (low < high and np.isfinite(high - low)):
        raise invalid("label_range", owner, "two finite numbers (low, high) with low < high", repr(value))
    if not has_square(high - low):
        raise invalid("label_range", owner, "such that (high - low)² is a number", repr(value))
    return low, high
