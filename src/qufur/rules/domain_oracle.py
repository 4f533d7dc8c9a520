"""Domain-aware oracle: the optimal rule if the hidden domains were known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from qufur.arrays import Floats, Ints, as_count, as_domains, set_fields
from qufur.errors import invalid
from qufur.rules.base import Domains, Rule
from qufur.rules.thresholds import ALWAYS, NEVER


def domain_rates(durations: Sequence[int], dims: Sequence[int], budget: int) -> Floats:
    """Return the rates μ_u that minimise Σ d_u/μ_u subject to Σ μ_u T_u ≤ B and μ_u ≤ 1.

    The optimum is μ_u = min(1, C √(d_u/T_u)) (appendix on large budgets): the domains with the largest
    √(d_u/T_u) are labelled completely, and C spends exactly the remaining budget on the others.

    Examples
    --------
    >>> domain_rates([100, 100], [4, 1], budget=60)
    array([0.4, 0.2])
    >>> domain_rates([10, 1000], [10, 1], budget=110)
    array([1. , 0.1])
    """
    T, d = np.asarray(durations, dtype=float), np.asarray(dims, dtype=float)
    if budget >= T.sum():
        return np.ones(len(T))
    weight = np.sqrt(d / T)
    for count in range(len(T)):
        full = np.argsort(-weight, kind="stable")[:count]
        rest = np.setdiff1d(np.arange(len(T)), full)
        scale = (budget - T[full].sum()) / (weight[rest] @ T[rest])
        if scale * weight[rest].max() <= 1:
            break
    return np.asarray(np.minimum(1.0, scale * weight))


@dataclass(frozen=True)
class DomainOracle(Rule):
    """Query domain u with the optimal domain-aware probability μ_u (Section 3.2).

    The caller passes the domain of each example.

    Parameters
    ----------
    durations, dims
        T_u and d_u of every domain; domains are numbered 0..m−1.
    budget
        B ≥ 1. μ spends it in expectation; it is also a hard cap.

    Examples
    --------
    >>> rule = DomainOracle(durations=[100, 100], dims=[4, 1], budget=60)
    >>> rule.probability(np.zeros(3), np.array([0, 1, 1]))
    array([0.4, 0.2, 0.2])
    """

    told_domain = True
    durations: Sequence[int] = field(kw_only=True)
    dims: Sequence[int] = field(kw_only=True)
    budget: int = field(kw_only=True)

    def __post_init__(self) -> None:
        budget = as_count(self.budget, "budget", "DomainOracle")
        durations, dims = as_domains(self.durations, self.dims, "DomainOracle")
        set_fields(self, durations=durations, dims=dims, budget=budget)

    @cached_property
    def rates(self) -> Floats:
        """μ_u of every domain."""
        return domain_rates(self.durations, self.dims, self.budget)

    def check_domain(self, domain: Ints | None) -> None:
        super().check_domain(domain)
        unknown = [u for u in np.unique(np.asarray(domain)) if not 0 <= u < len(self.dims)]
        if unknown:
            raise invalid("domain", "DomainOracle", f"between 0 and {len(self.dims) - 1}", unknown[0])

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        return self.rates[domain]

    def thresholds(self, coins: Floats, domain: Ints | None) -> Floats:
        return np.where(coins < self.rates[domain], ALWAYS, NEVER)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> DomainOracle:
        if domains is None:
            raise invalid("domains", "DomainOracle", "known", "a stream without domains")
        return cls(durations=domains[0], dims=domains[1], budget=budget)

    @classmethod
    def examples(cls, horizon: int) -> Sequence[DomainOracle]:
        durations, dims = [horizon - horizon // 3, max(1, horizon // 3)], [3, 1]
        return [cls(durations=durations, dims=dims, budget=max(1, horizon // share)) for share in (2, 10)]
