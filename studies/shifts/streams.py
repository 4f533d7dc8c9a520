"""Streams for evaluating the shift signal: those of the budget rules, and streams with inputs of any norm.

About half of each were used to design the signal, the rest are held out. A beginning is the first example of
a domain; streams without domains and streams whose domains are mixed from the start have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.streams import Arrays, HiddenDomains, LowerBound
from studies.pacing import streams as pacing
from studies.pacing.sources import duplicates

ONE_AFTER_ANOTHER, COMING_BACK, AMONG_OTHERS = "one after another", "coming back", "among others"
NO_BEGINNINGS = "none"
OF_NORM_ONE, OF_ANY_NORM = "norm 1", "any norm"

_MIXED = ("iid", "interleaved", "shuffled", "spectrum", "duplicates")


@dataclass(frozen=True)
class Family:
    """Type of stream: how its domains begin, norms of inputs, design or held-out, and constructor."""

    beginnings: str
    norms: str
    part: str
    make: pacing.Family

    def stream(self, seed: int) -> Arrays:
        """Return a stream; its examples have domains if the family has beginnings."""
        stream = self.make(seed)
        arrays = Arrays.of(stream)
        if self.beginnings == NO_BEGINNINGS:
            return Arrays(arrays.X, arrays.y)
        domain = directions(arrays.X) if isinstance(stream, LowerBound) else arrays.domain
        return Arrays(arrays.X, arrays.y, domain=domain)


def directions(X: Floats) -> Ints:
    """Return the index of each row among the distinct rows.

    They serve as domains of the adversary, which repeats one input before it moves to a new direction.

    >>> directions(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])).tolist()
    [0, 0, 1]
    """
    return np.unique(X, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _scaled(make: pacing.Family, factors: Callable[[np.random.Generator, int], Floats]) -> pacing.Family:
    """Return a family whose inputs and labels are multiplied by random factors."""

    def scaled(seed: int) -> Arrays:
        stream = Arrays.of(make(seed))
        factor = factors(np.random.default_rng([seed, 77]), stream.horizon)
        return Arrays(stream.X * factor[:, None], np.clip(stream.y * factor, -1, 1), domain=stream.domain)

    return scaled


def _gaussian(dim: int) -> pacing.Family:
    def gaussian(seed: int) -> Arrays:
        X = np.random.default_rng([seed, 78]).standard_normal((4000, dim)) / np.sqrt(dim)
        return Arrays(X, np.clip(X[:, 0], -1, 1))

    return gaussian


def _log_normal(deviation: float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, count: np.exp(deviation * rng.standard_normal(count) - deviation**2)


def _heavy(rng: np.random.Generator, count: int) -> Floats:
    """Return half the absolute values of Student's t with two degrees of freedom, at most 20."""
    return np.asarray(np.minimum(np.abs(rng.standard_t(2, count)) / 2, 20.0))


def _beginnings(name: str) -> str:
    """Return how the domains of a pacing stream begin."""
    if name.startswith(_MIXED):
        return NO_BEGINNINGS
    if name == "recurring":
        return COMING_BACK
    return AMONG_OTHERS if "Poisson" in name else ONE_AFTER_ANOTHER


def _even(seed: int) -> HiddenDomains:
    return HiddenDomains([400] * 5, [5] * 5, seed=seed)


def _uneven(seed: int) -> HiddenDomains:
    return HiddenDomains([800, 400, 200, 200], [2, 6, 12, 4], seed=seed)


def _one(seed: int) -> HiddenDomains:
    return HiddenDomains([4000], [10], seed=seed)


def _shuffled(seed: int) -> HiddenDomains:
    return HiddenDomains([800, 800, 400, 200], [2, 4, 8, 16], order="shuffled", seed=seed)


def _short(seed: int) -> HiddenDomains:
    return HiddenDomains([250] * 8, [3] * 8, seed=seed)


def _varied(seed: int) -> HiddenDomains:
    return HiddenDomains([300, 500, 200, 500, 300], [8, 3, 5, 3, 10], seed=seed)


def _any_norm(part: str, beginnings: str, makers: dict[str, pacing.Family]) -> dict[str, Family]:
    return {name: Family(beginnings, OF_ANY_NORM, part, make) for name, make in makers.items()}


FAMILIES: dict[str, Family] = {
    name: Family(_beginnings(name), OF_NORM_ONE, "design" if name in pacing.DESIGN else "held-out", make)
    for name, make in pacing.FAMILIES.items()
}
FAMILIES |= _any_norm(
    "design",
    ONE_AFTER_ANOTHER,
    {
        "even, log-normal 0.5": _scaled(_even, _log_normal(0.5)),
        "even, log-normal 1": _scaled(_even, _log_normal(1.0)),
        "uneven, log-normal 0.5": _scaled(_uneven, _log_normal(0.5)),
    },
)
FAMILIES |= _any_norm(
    "design",
    NO_BEGINNINGS,
    {
        "iid, log-normal 0.5": _scaled(_one, _log_normal(0.5)),
        "iid, log-normal 1": _scaled(_one, _log_normal(1.0)),
        "shuffled, log-normal 0.5": _scaled(_shuffled, _log_normal(0.5)),
        "iid, Gaussian in 2": _gaussian(2),
    },
)
FAMILIES |= _any_norm(
    "held-out",
    ONE_AFTER_ANOTHER,
    {
        "varied, Student 2": _scaled(_varied, _heavy),
        "short, log-normal 0.7": _scaled(_short, _log_normal(0.7)),
        "overlapping, log-normal 0.5": _scaled(pacing.HELD_OUT["overlapping subspaces"], _log_normal(0.5)),
    },
)
FAMILIES |= _any_norm(
    "held-out",
    NO_BEGINNINGS,
    {
        "iid, Student 2": _scaled(_one, _heavy),
        "duplicates, log-normal 1": _scaled(lambda seed: duplicates(4000, 60, 20, seed), _log_normal(1.0)),
        "iid, Gaussian in 1": _gaussian(1),
        "iid, Gaussian in 5": _gaussian(5),
    },
)
