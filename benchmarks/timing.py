"""CPU time of variants of one task, interleaved so that slow phases of the machine affect all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SHORTEST = 0.03
"""Minimum seconds per sample of a replay."""


@dataclass(frozen=True)
class Timing:
    """Microseconds per step: the median over the rounds, and the quartiles."""

    median: float
    low: float
    high: float
    rounds: int

    @property
    def spread(self) -> float:
        """Half the quartile range, in percent of the median."""
        return 50.0 * (self.high - self.low) / self.median

    @classmethod
    def of(cls, seconds: list[float], steps: int) -> Timing:
        """Summarise the rounds."""
        low, median, high = 1e6 / steps * np.quantile(seconds, [0.25, 0.5, 0.75])
        return cls(float(median), float(low), float(high), len(seconds))

    def __str__(self) -> str:
        digits = max(0, 2 - math.ceil(math.log10(self.median)))
        spread = f" ±{self.spread:.0f}%" if self.rounds > 1 else ""
        return f"{self.median:.{digits}f}{spread}"


def interleaved(
    variants: Mapping[str, Callable[[], object]],
    steps: int,
    rounds: int,
    fewer: Mapping[str, int] | None = None,
    check: Callable[[dict[str, Any]], object] = id,
    shortest: float = 0.0,
) -> dict[str, Timing]:
    """Time each variant in each round.

    Parameters
    ----------
    variants
        The work, by name.
    steps
        How many examples it is about.
    rounds, fewer
        How often; `fewer` limits the rounds of slow ones.
    check
        Is called with what the variants returned in the first round, so that no slow one runs only for that.
    shortest
        Seconds: work that takes less is repeated, from the second round on. What other variants leave in the
        caches would otherwise be most of what is measured.
    """
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    repeats = dict.fromkeys(variants, 1)
    returned: dict[str, Any] = {}
    for done in range(rounds):
        for name, work in variants.items():
            if done < (fewer or {}).get(name, rounds):
                start = time.process_time()
                for _ in range(repeats[name]):
                    returned[name] = work()
                seconds[name].append((time.process_time() - start) / repeats[name])
        if done == 0:
            check(returned)
            repeats = {
                name: math.ceil(shortest / max(taken[0], 1e-6)) or 1 for name, taken in seconds.items()
            }
    return {name: Timing.of(taken, steps) for name, taken in seconds.items()}
