"""Losses of what was said before labels came: summed up many labels at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import under
from qufur.models.experts.class_errors import ClassErrors
from qufur.models.experts.learning_curve import LearningCurve
from qufur.models.experts.track_record import TrackRecord

if TYPE_CHECKING:
    from qufur.models.experts.committee import Committee
    from qufur.models.experts.state import Said

AT_ONCE = 64
"""Labels that wait to be summed up; no bit of the sums depends on it."""


class Records:
    """All that is known of losses: of each expert, as labels at random grew, and class by class.

    Parameters
    ----------
    model
        Whose losses they are.
    experts, at_random
        How many experts there are, and which of them learn from labels at random alone.
    """

    def __init__(self, model: Committee, experts: int, at_random: list[int]) -> None:
        self._model, self._at_random = model, at_random
        self._new: list[tuple[Said, float]] = []
        self.losses = TrackRecord(experts)
        self.curve = LearningCurve(len(at_random))
        self.classes = ClassErrors(model.output_count if model.classifies else 0)

    def take_in(self, said: Said, label: float) -> None:
        """Take note of a label, against what the experts and all together had said."""
        self._new.append((said, label))
        if len(self._new) == AT_ONCE:
            self.up_to_date()

    def up_to_date(self) -> Records:
        """Return them with all labels summed up."""
        if not self._new:
            return self
        outputs = np.array([np.vstack([said.predictions, said.output]) for said, _ in self._new])
        labels = np.array([label for _, label in self._new])
        p, _, at_random = np.array([said.terms for said, _ in self._new]).T
        self._new = []
        losses = self._model.losses(outputs, labels)
        self.losses.take_in(losses, p)
        self.curve.take_in(losses[:, self._at_random], losses[:, -1], p, at_random)
        if self._model.classifies:
            self.classes.take_in(labels.astype(np.int64), losses[:, -1], p)
        return self

    def take_over(self, other: Records) -> None:
        """Go on from those of fewer classes, the first of these."""
        other.up_to_date()
        self.losses.restore(other.losses.arrays())
        self.curve.restore(other.curve.arrays())
        self.classes.take_over(other.classes)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        self.up_to_date()
        parts = {
            "record": self.losses.arrays(),
            "curve": self.curve.arrays(),
            "class_errors": self.classes.arrays(),
        }
        return {f"{part}.{name}": array for part, own in parts.items() for name, array in own.items()}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned."""
        self.losses.restore(under("record.", arrays))
        self.curve.restore(under("curve.", arrays))
        self.classes.restore(under("class_errors.", arrays))
