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
    check: Callable[[dict[str, Any]], object] | None = None,
    shortest: float = 0.0,
) -> dict[str, Timing]:
    """Time each variant in each round.

    Parameters
    ----------
    variants
        Functions to time, by name.
    steps
        Number of examples per call; times are per example.
    rounds, fewer
        Number of rounds, and smaller numbers for slow variants.
    check
        Called with the results of the first round, so that no slow variant runs only to be checked.
    shortest
        Minimum seconds per sample: from the second round, faster variants are repeated within a sample.
        Otherwise most of the time would be that of caches filled by other variants.
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
            if check is not None:
                check(returned)
            repeats = {
                name: math.ceil(shortest / max(taken[0], 1e-6)) or 1 for name, taken in seconds.items()
            }
    return {name: Timing.of(taken, steps) for name, taken in seconds.items()}
