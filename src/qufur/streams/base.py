"""What every stream offers to `run`, and seeds of those that are drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints, is_whole
from qufur.errors import invalid


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


def independent_seeds(seed: int, count: int, owner: str) -> list[np.random.SeedSequence]:
    """Return a seed for each source of randomness.

    A source with a generator of its own never moves the others, and so the cutting into chunks cannot
    change what is drawn. The seeds are kept rather than the generators: every replay starts them afresh.
    """
    if not is_whole(seed) or seed < 0:
        raise invalid("seed", owner, "an integer of at least 0", repr(seed))
    return np.random.SeedSequence(int(seed)).spawn(count)
