"""Links of generalised linear functions: monotone maps from a score ⟨θ, x⟩ to a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid


@dataclass(frozen=True)
class Link:
    """An increasing function, its derivative, and the largest value of the derivative."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    max_slope: float


def _erf(scores: Floats) -> Floats:
    from scipy.special import erf

    return np.asarray(erf(scores / math.sqrt(2)))


def _density(scores: Floats) -> Floats:
    return np.asarray(math.sqrt(2 / math.pi) * np.exp(-0.5 * np.minimum(np.abs(scores), 1e3) ** 2))


LINKS = {
    "identity": Link(np.asarray, np.ones_like, 1.0),
    # Probabilities p are mapped to 2p − 1 in [−1, 1], like labels in [0, 1].
    "logistic": Link(lambda z: np.tanh(z / 2), lambda z: (1 - np.tanh(z / 2) ** 2) / 2, 0.5),
    "probit": Link(_erf, _density, math.sqrt(2 / math.pi)),
}


def as_link(name: Any, owner: str) -> Link:
    """Return the link with this name; raise `InvalidError` for an unknown one."""
    if not isinstance(name, str) or name not in LINKS:
        raise invalid("link", owner, f"one of {', '.join(map(repr, LINKS))}", repr(name))
    return LINKS[name]
