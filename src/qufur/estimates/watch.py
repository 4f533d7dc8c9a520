"""What is followed beside the learner: the inputs, to see where they shift, and the course of the work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from qufur.arrays import Bools, Floats
from qufur.estimates.course import Course
from qufur.estimates.input_blocks import InputBlocks


@dataclass
class Watch:
    """Follows what was asked and what came of it, in bounded memory; it decides nothing."""

    inputs: InputBlocks = field(default_factory=InputBlocks)
    course: Course = field(default_factory=Course)

    def ask(self, X: Floats, query: Bools) -> None:
        """Take note of the next rows, of those that are there, and of which were asked for."""
        if len(X):
            self.inputs.update(X)
        self.course.ask(query)

    def save(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Return everything as values for JSON and named arrays."""
        values, arrays = self.inputs.save()
        return {"inputs": values, "course": self.course.save()}, arrays

    @classmethod
    def restored(cls, values: dict[str, Any], arrays: dict[str, Floats], since: tuple[int, int]) -> Watch:
        """Return what `save` was called on; files of before have none, and are followed since so many rows.

        Parameters
        ----------
        values, arrays
            What `save` returned, or nothing.
        since
            Rows and labels by now.
        """
        if not values:
            return cls(InputBlocks(since[0]), Course(*since))
        inputs = InputBlocks.restored(values["inputs"], arrays)
        return cls(inputs, Course.restored(values["course"]))
