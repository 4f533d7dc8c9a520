"""The parameters that generated streams share, checked once."""

from __future__ import annotations

import math
import numbers

import numpy as np

from qufur.errors import invalid


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
