"""Label codecs: labels as users write them, and the numbers that models learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid


class LabelCodec:
    """Codec of any real labels, which models learn unchanged."""

    bounds: tuple[float, float] | None = None
    """Lowest and highest label that the user declared; None without them."""
    classifies: ClassVar[bool] = False
    """Whether labels are classes."""

    def encode(self, labels: Any) -> Any:
        """Return labels as numbers; raise `InvalidError` for unknown classes."""
        return labels

    def check(self, labels: Floats) -> None:
        """Raise `InvalidError` for finite numbers that the model cannot learn."""

    def decode(self, predictions: Floats) -> Any:
        """Return predictions in the user's terms: numbers, or class names."""
        return predictions

    def decode_one(self, prediction: float) -> Any:
        """Return one prediction in the user's terms."""
        return prediction

    def examples(self, numbers: Floats) -> Floats:
        """Map real numbers around 0 to labels, for the contract checks."""
        return numbers


@dataclass(frozen=True)
class RealLabels(LabelCodec):
    """Codec of real labels with bounds."""

    bounds: tuple[float, float] | None


@dataclass(frozen=True)
class ClassNumbers(LabelCodec):
    """Codec of classes that the user numbers: 0, 1, …, `count` − 1.

    Attributes
    ----------
    count
        Number of classes.
    owner
        Name of the model in error messages.
    """

    count: int
    owner: str
    classifies: ClassVar[bool] = True

    def check(self, labels: Floats) -> None:
        """Raise `InvalidError` for labels that are not class numbers."""
        invalid_labels = (labels != np.floor(labels)) | (labels < 0) | (labels >= self.count)
        if invalid_labels.any():
            allowed = f"a class, an integer from 0 to {self.count - 1}"
            raise invalid("label", self.owner, allowed, f"{labels[invalid_labels.argmax()]:g}")

    def examples(self, numbers: Floats) -> Floats:
        """Cut the numbers at multiples of 1/4 into classes."""
        return np.clip(np.floor(4 * numbers + self.count / 2), 0, self.count - 1)


@dataclass(frozen=True)
class ClassNames(LabelCodec):
    """Codec of classes with names; a model learns their indices.

    Attributes
    ----------
    classes
        Names in the order of their indices.
    owner
        Name of the model in error messages.
    """

    classes: Sequence[Any]
    owner: str
    classifies: ClassVar[bool] = True

    def encode(self, labels: Any) -> Any:
        """Return the indices of classes; raise `InvalidError` for unknown classes."""
        values = [labels] if isinstance(labels, str) else np.asarray(labels).ravel().tolist()
        indices = {value: index for index, value in enumerate(self.classes)}
        unknown = [value for value in values if value not in indices]
        if unknown:
            more = ", …" if len(self.classes) > 8 else ""
            classes = ", ".join(map(repr, self.classes[:8])) + more
            raise invalid("label", self.owner, f"one of {classes}", repr(unknown[0]))
        return np.array([indices[value] for value in values], dtype=np.float64)

    def decode(self, predictions: Floats) -> Any:
        """Return the names of predicted classes."""
        return np.array(self.classes)[predictions.astype(np.int64)]

    def decode_one(self, prediction: float) -> Any:
        """Return the name of one predicted class."""
        return self.classes[int(prediction)]

    def examples(self, numbers: Floats) -> Floats:
        """Cut the numbers at multiples of 1/4 into indices of classes."""
        count = len(self.classes)
        return np.clip(np.floor(4 * numbers + count / 2), 0, count - 1)
