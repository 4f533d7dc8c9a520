"""CPU time of variants of the same work, interleaved so that a slow moment of the machine hits them all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Timing:
    """Microseconds per step: the median over the rounds, and the quartiles."""

    median: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, seconds: list[float], steps: int) -> Timing:
        """Summarise the rounds."""
        low, median, high = 1e6 / steps * np.quantile(seconds, [0.25, 0.5, 0.75])
        return cls(float(median), float(low), float(high), len(seconds))

    def __str__(self) -> str:
        spread = 50.0 * (self.high - self.low) / self.median
        digits = max(0, 2 - math.ceil(math.log10(self.median)))
        return f"{self.median:.{digits}f} ±{spread:.0f}%"


def interleaved(
    variants: Mapping[str, Callable[[], object]],
    steps: int,
    rounds: int,
    fewer: Mapping[str, int] | None = None,
) -> dict[str, Timing]:
    """Time each variant once per round; `fewer` limits the rounds of slow ones."""
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for done in range(rounds):
        for name, work in variants.items():
            if done < (fewer or {}).get(name, rounds):
                start = time.process_time()
                work()
                seconds[name].append(time.process_time() - start)
    return {name: Timing.of(taken, steps) for name, taken in seconds.items()}
