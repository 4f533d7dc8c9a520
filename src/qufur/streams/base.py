"""What every stream offers to `run`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qufur.arrays import Floats, Ints


@dataclass(frozen=True)
class Chunk:
    """Consecutive examples of a stream.

    Parameters
    ----------
    X, y
        Inputs (n, dim) and the labels (n,) that a query would reveal.
    truth
        f*(x) for each row, where the stream knows it.
    domain
        The hidden domain of each row, where the stream knows it.
    """

    X: Floats
    y: Floats
    truth: Floats | None = None
    domain: Ints | None = None

    def __len__(self) -> int:
        return len(self.X)


class Stream(ABC):
    """A sequence of examples that can be played any number of times, each time the same.

    Attributes
    ----------
    dim
        Number of input columns.
    horizon
        Number of examples T.
    """

    dim: int
    horizon: int

    @abstractmethod
    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield the examples in order, at most `size` at a time; the cutting never changes the examples."""

    def against(self, learner: Any) -> Stream:
        """Return the stream as this learner meets it; only an adaptive adversary looks at the learner."""
        return self
