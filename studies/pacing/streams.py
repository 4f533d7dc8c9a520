"""Streams for evaluating budget rules: half of them for design, half held out.

Both sets were fixed before any rule was evaluated on them. The noise has standard deviation 0.1 unless the
name of a stream states another; θ* is on the unit sphere, and λ = 1, the default of `Ridge(dim)`. For the
lower-bound adversary θ* is in [0, 1]^d, the labels are Bernoulli draws, and λ = 1/d.
"""

from __future__ import annotations

from collections.abc import Callable

from qufur.models import Ridge
from qufur.streams import HiddenDomains, LowerBound, Stream
from studies.pacing.sources import arrivals, duplicates, power_law, random_lengths, recurring

LONG = 13_000
"""Smallest horizon of a long stream."""

Family = Callable[[int], Stream]

DESIGN: dict[str, Family] = {
    "homogeneous": lambda seed: HiddenDomains([100] * 10, [5] * 10, seed=seed),
    "long and easy first": lambda seed: HiddenDomains([1500, 300, 200], [2, 6, 12], seed=seed),
    "long and easy last": lambda seed: HiddenDomains([200, 300, 1500], [12, 6, 2], seed=seed),
    "two halves": lambda seed: HiddenDomains([1500, 1500], [10, 10], seed=seed),
    "iid, short": lambda seed: HiddenDomains([500], [5], seed=seed),
    "iid": lambda seed: HiddenDomains([2000], [20], seed=seed),
    "interleaved": lambda seed: HiddenDomains(
        [400, 400, 100, 100], [3, 6, 6, 12], order="interleaved", seed=seed
    ),
    "shuffled": lambda seed: HiddenDomains([100] * 20, [4] * 20, order="shuffled", seed=seed),
    "adversary": lambda seed: LowerBound([1000, 2000, 2000], [20, 10, 2], seed=seed),
    "adversary, equal domains": lambda seed: LowerBound([500] * 6, [5] * 6, seed=seed),
    "the scripts' setting": HiddenDomains.scripts,
    "the text's setting": HiddenDomains.text,
    "the introduction's example": lambda seed: HiddenDomains.introduction(50, 2000, seed=seed),
    "noise 0.5": lambda seed: HiddenDomains([400] * 5, [4] * 5, noise=0.5, seed=seed),
    "iid, long": lambda seed: HiddenDomains([15_000], [30], seed=seed),
    "easy first, long": lambda seed: HiddenDomains([8000, 4000, 2000, 1000], [2, 4, 8, 16], seed=seed),
    "easy last, long": lambda seed: HiddenDomains([1000, 2000, 4000, 8000], [16, 8, 4, 2], seed=seed),
    "interleaved, long": lambda seed: HiddenDomains(
        [4000, 4000, 3000, 2000], [2, 4, 8, 16], order="interleaved", seed=seed
    ),
}

HELD_OUT: dict[str, Family] = {
    "Poisson arrivals": lambda seed: arrivals(3000, 15, 4, seed),
    "steady arrivals": lambda seed: HiddenDomains([50] * 40, [3] * 40, seed=seed),
    "recurring": lambda seed: recurring(60, 10, [6] * 5, seed),
    "growing durations": lambda seed: HiddenDomains([20 * 2**k for k in range(8)], [4] * 8, seed=seed),
    "shrinking durations": lambda seed: HiddenDomains(
        [20 * 2**k for k in reversed(range(8))], [4] * 8, seed=seed
    ),
    "random lengths": lambda seed: random_lengths(2500, 12, 10, seed),
    "five short domains": lambda seed: HiddenDomains([60, 40, 200, 100, 100], [2, 6, 2, 6, 4], seed=seed),
    "spectrum 1/k": lambda seed: power_law(3000, 50, 1.0, seed),
    "spectrum 1/√k": lambda seed: power_law(3000, 50, 0.5, seed),
    "overlapping subspaces": lambda seed: HiddenDomains([300] * 8, [6] * 8, ambient=24, seed=seed),
    "late and small": lambda seed: HiddenDomains([3800, 200], [4, 20], seed=seed),
    "burst, then one direction": lambda seed: HiddenDomains([200, 1800], [40, 1], seed=seed),
    "duplicates": lambda seed: duplicates(2000, 60, 20, seed),
    "Poisson arrivals, long": lambda seed: arrivals(13_000, 20, 4, seed),
    "steady arrivals, long": lambda seed: HiddenDomains([500] * 40, [3] * 40, seed=seed),
    "growing durations, long": lambda seed: HiddenDomains([52 * 2**k for k in range(8)], [5] * 8, seed=seed),
    "spectrum 1/k, long": lambda seed: power_law(16_000, 50, 1.0, seed),
    "late and small, long": lambda seed: HiddenDomains([18_000, 2000], [3, 20], seed=seed),
}

FAMILIES = DESIGN | HELD_OUT


def model_of(stream: Stream) -> Ridge:
    """Return the learner's model, which knows only the norm of θ*."""
    return Ridge(stream.dim, norm_bound=stream.dim**0.5 if isinstance(stream, LowerBound) else 1.0)
