"""Statistics of the inputs and of the progress of a run, kept beside the learner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from qufur.arrays import Bools, Floats
from qufur.estimates.input_blocks import InputBlocks
from qufur.estimates.timeline import Timeline


@dataclass
class Monitor:
    """Tracks inputs and progress in bounded memory. Decisions never depend on it."""

    inputs: InputBlocks = field(default_factory=InputBlocks)
    timeline: Timeline = field(default_factory=Timeline)

    def ask(self, X: Floats, query: Bools) -> None:
        """Record the next rows: the inputs that are present, and the queries among all."""
        if len(X):
            self.inputs.update(X)
        self.timeline.ask(query)

    def save(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Return the state as JSON values and named arrays."""
        values, arrays = self.inputs.save()
        return {"inputs": values, "course": self.timeline.save()}, arrays

    @classmethod
    def restored(cls, values: dict[str, Any], arrays: dict[str, Floats], since: tuple[int, int]) -> Monitor:
        """Rebuild a monitor from `save`.

        Parameters
        ----------
        values, arrays
            The result of `save`; empty for files of older versions.
        since
            Rows and labels so far: a monitor without saved state starts after them.
        """
        if not values:
            return cls(InputBlocks(since[0]), Timeline(*since))
        inputs = InputBlocks.restored(values["inputs"], arrays)
        return cls(inputs, Timeline.restored(values["course"]))
