"""Interface of streams, and seeds of those that are drawn at random."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints, is_integer
from qufur.errors import invalid


@dataclass(frozen=True)
class Chunk:
    """Block of consecutive examples of a stream.

    Parameters
    ----------
    X, y
        Inputs (n, dim) and the labels (n,) that a query would reveal.
    truth
        f*(x) for each row, if the stream has it.
    domain
        Hidden domain of each row, if the stream has it.
    """

    X: Floats
    y: Floats
    truth: Floats | None = None
    domain: Ints | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice) -> Chunk:
        truth = None if self.truth is None else self.truth[rows]
        domain = None if self.domain is None else self.domain[rows]
        return Chunk(self.X[rows], self.y[rows], truth, domain)


class Stream(ABC):
    """Sequence of examples that can be replayed any number of times with the same result.

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
        """Yield the examples in order, at most `size` at a time; `size` never changes the examples."""

    def against(self, learner: Any) -> Stream:
        """Return the stream that this learner is run on; only an adaptive adversary uses the learner."""
        return self


def independent_seeds(seed: int, count: int, owner: str) -> list[np.random.SeedSequence]:
    """Return a seed for each source of randomness.

    Each source has a separate generator, so the chunk size cannot change the draws. Streams store seeds
    instead of generators: every replay starts from the seeds.
    """
    if not is_integer(seed) or seed < 0:
        raise invalid("seed", owner, "an integer of at least 0", repr(seed))
    return np.random.SeedSequence(int(seed)).spawn(count)
