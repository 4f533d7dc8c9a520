"""The parameters that generated streams share, checked once."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from qufur.arrays import as_count
from qufur.errors import invalid


def as_domains(
    durations: Sequence[int], dims: Sequence[int], owner: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the T_u and d_u as tuples of integers, as many of the one as of the other."""
    for name, values in (("durations", durations), ("dims", dims)):
        if np.ndim(values) != 1:
            raise invalid(name, owner, "a sequence of one positive integer per domain", repr(values))
    T = tuple(as_count(T_u, "each of durations", owner) for T_u in durations)
    d = tuple(as_count(d_u, "each of dims", owner) for d_u in dims)
    if not T or len(T) != len(d):
        raise invalid(
            "durations and dims", owner, "as many, at least one", f"{len(T)} durations and {len(d)} dims"
        )
    return T, d


def as_noise(noise: float, owner: str) -> float:
    """Return the standard deviation of the labels' noise, at least 0."""
    if isinstance(noise, bool) or not isinstance(noise, numbers.Real) or not 0 <= noise < math.inf:
        raise invalid("noise", owner, "a finite number of at least 0", repr(noise))
    return float(noise)


def independent_seeds(seed: int, count: int, owner: str) -> list[np.random.SeedSequence]:
    """Return a seed for each source of randomness.

    A source with a generator of its own never moves the others, and so the cutting into chunks cannot
    change what is drawn. The seeds are kept rather than the generators: every replay starts them afresh.
    """
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        raise invalid("seed", owner, "an integer of at least 0", repr(seed))
    return np.random.SeedSequence(int(seed)).spawn(count)
