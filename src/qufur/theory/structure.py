"""Inputs of the theorems, (T_u, d_u) per domain, and their results, bounds on queries and regret."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.arrays import Floats, as_domains, as_number, set_fields
from qufur.errors import invalid


@dataclass(frozen=True)
class Structure:
    """Domains of durations T_u and dimensions d_u, the quantities in every theorem.

    Parameters
    ----------
    durations
        T_u ≥ 1, the number of examples of domain u.
    dims
        d_u ≥ 1, the dimension of the subspace of domain u; the effective dimension in the kernel theorem, the
        eluder dimension in the non-linear theorems.

    Examples
    --------
    >>> structure = Structure(durations=[100, 900], dims=[4, 1])
    >>> structure.horizon, structure.root_sum
    (1000, 50.0)
    """

    durations: Sequence[int]
    dims: Sequence[int]

    def __post_init__(self) -> None:
        durations, dims = as_domains(self.durations, self.dims, "Structure")
        set_fields(self, durations=durations, dims=dims)

    @property
    def horizon(self) -> int:
        """T = Σ T_u."""
        return sum(self.durations)

    @property
    def arrays(self) -> tuple[Floats, Floats]:
        """Durations T_u and dimensions d_u as arrays."""
        return np.array(self.durations, dtype=np.float64), np.array(self.dims, dtype=np.float64)

    @property
    def root_sum(self) -> float:
        """Σ √(d_u T_u), on which the trade-off depends."""
        T, d = self.arrays
        return float(np.sqrt(d * T).sum())

    def check_full(self, owner: str) -> None:
        """Raise for a domain with more dimensions than examples; the lower bounds exclude it."""
        for T_u, d_u in zip(self.durations, self.dims, strict=True):
            if d_u > T_u:
                received = f"d_u = {d_u} with T_u = {T_u}"
                raise invalid("dims", owner, "at most the duration of their domain", received)


@dataclass(frozen=True)
class Bounds:
    """Upper bounds on the queries Q and the regret R, which hold together.

    Examples
    --------
    >>> Bounds(queries=30.0, regret=5.0).cost(10.0)
    80.0
    """

    queries: float
    regret: float

    def cost(self, cost_ratio: float) -> float:
        """Return cR + Q, the total cost when a unit of regret costs as much as c labels."""
        return as_number(cost_ratio, "cost_ratio", "Bounds", low=0) * self.regret + self.queries


def as_delta(delta: Any, owner: str) -> float:
    """Validate a probability of failure δ in (0, 1)."""
    real = isinstance(delta, numbers.Real) and not isinstance(delta, bool)
    if not (real and 0 < delta < 1):
        raise invalid("delta", owner, "between 0 and 1, both excluded", repr(delta))
    return float(delta)


def as_chance(delta: Any, owner: str) -> float | None:
    """Validate δ in (0, 1), or None for bounds on expectations."""
    return None if delta is None else as_delta(delta, owner)


def clipped_noise(noise: float) -> float:
    """Return η̃ = max(1, η).

    >>> clipped_noise(0.1), clipped_noise(2.0)
    (1.0, 2.0)
    """
    return max(1.0, noise)


def log_price(delta: float | None, parts: int) -> float:
    """Return ln(parts/δ), the union bound over `parts` events with total δ; 0 for expectations."""
    return 0.0 if delta is None else math.log(parts / delta)
