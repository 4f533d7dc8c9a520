"""Seeds of generated streams."""

from __future__ import annotations

import numpy as np

from qufur.arrays import is_whole
from qufur.errors import invalid


def independent_seeds(seed: int, count: int, owner: str) -> list[np.random.SeedSequence]:
    """Return a seed for each source of randomness.

    A source with a generator of its own never moves the others, and so the cutting into chunks cannot
    change what is drawn. The seeds are kept rather than the generators: every replay starts them afresh.
    """
    if not is_whole(seed) or seed < 0:
        raise invalid("seed", owner, "an integer of at least 0", repr(seed))
    return np.random.SeedSequence(int(seed)).spawn(count)
