"""A budget per period: so many labels a week, and what is not bought in one lapses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qufur.arrays import Floats, Ints, as_count, set_fields
from qufur.rules.base import Domains, Rule
from qufur.rules.period_spending import PeriodSpending


@dataclass(frozen=True)
class PerPeriod(Rule):
    """Buy at most so many labels in each period, evenly, half of them at random.

    The rule is told the period of each example as its domain, a number that grows. Examples of an earlier
    period come late and count for the running one, as do those whose period is `UNKNOWN`.

    The probability is that of `Steady(budget, rows)`, with labels and examples left being those of the
    period, and a front in the first one only. How many examples a period has is estimated: as many as those
    before it, on average, unless its `PeriodSpending` is told to `expect` others. If fewer come, labels
    lapse; if more come, none is left for the last of them.

    A label that is retracted may be bought again within its own period.

    Parameters
    ----------
    budget
        Labels per period, at least 1.
    rows
        How many examples the first period is expected to have, at least 1.

    Examples
    --------
    >>> from qufur import Learner, Ridge, run, streams
    >>> stream = streams.HiddenDomains([300, 300, 200], [3, 2, 4], seed=1)
    >>> trace = run(Learner(Ridge(9), PerPeriod(20, 300)), stream)
    >>> [totals.queries for totals in trace.by_domain().values()]
    [20, 20, 14]
    """

    single = True
    told_domain = True
    budget: int
    rows: int

    def __post_init__(self) -> None:
        budget, rows = (as_count(getattr(self, name), name, "PerPeriod") for name in ("budget", "rows"))
        set_fields(self, budget=budget, rows=rows)

    @property
    def share(self) -> float:
        return min(1.0, self.budget / self.rows)

    @property
    def limit(self) -> None:
        return None

    def probability(self, uncertainty: Floats, domain: Ints | None) -> Floats:
        return self.start().probability(uncertainty, domain)

    def start(self) -> PeriodSpending:
        return PeriodSpending(self)

    @classmethod
    def for_budget(cls, budget: int, horizon: int, domains: Domains | None) -> PerPeriod:
        periods = len(domains[0]) if domains else 1
        return cls(max(1, budget // periods), max(1, horizon // periods))

    @classmethod
    def examples(cls, horizon: int) -> Sequence[PerPeriod]:
        third = max(1, horizon // 3)
        return [cls(max(1, horizon // 10), third), cls(third, horizon)]
