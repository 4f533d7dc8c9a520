"""What a service answered, as a learner would have said it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.answer import Answer
from qufur.arrays import Bools, Floats


class RemoteAnswer(Answer):
    """What a service says about one input: an `Answer`, and an interval.

    Attributes
    ----------
    interval
        Between which ends nine of ten labels are to lie; None where that is not known, or labels are classes.
    """

    interval: tuple[float, float] | None
    _why: str

    @property
    def why(self) -> str:
        """The decision in one line."""
        return self._why

    @classmethod
    def of(cls, said: dict[str, Any]) -> RemoteAnswer:
        """Return an answer as it was sent."""
        made = cls(*(said[name] for name in cls._fields))
        made.interval = None if said["interval"] is None else tuple(said["interval"])
        made._why = said["why"]
        return made


@dataclass(frozen=True)
class RemoteAnswers:
    """What a service says about several inputs: columns, and iterable as rows."""

    rows: Sequence[RemoteAnswer]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RemoteAnswer]:
        return iter(self.rows)

    @property
    def id(self) -> list[str]:
        """What the inputs are called."""
        return [str(row.id) for row in self.rows]

    @property
    def prediction(self) -> np.ndarray[Any, Any]:
        """Numbers, or classes."""
        return np.array([row.prediction for row in self.rows])

    @property
    def uncertainty(self) -> Floats:
        """Δ of each."""
        return np.array([row.uncertainty for row in self.rows], dtype=float)

    @property
    def probability(self) -> Floats:
        """The chances with which labels were going to be wanted."""
        return np.array([row.probability for row in self.rows], dtype=float)

    @property
    def query(self) -> Bools:
        """Whether labels are wanted."""
        return np.array([row.query for row in self.rows], dtype=bool)
