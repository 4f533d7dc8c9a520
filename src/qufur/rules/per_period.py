"""Budget per period, such as 100 labels a week. Labels that are not bought within their period lapse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints, as_count, set_fields
from qufur.rules.base import Domains, Rule
from qufur.rules.spending import Charge
from qufur.rules.steady import WarmupSpending

UNKNOWN = int(np.iinfo(np.int64).min)
"""The period of an example without a time."""
SLOWEST_WEIGHT = 0.25
"""Minimum weight of a new period in the running mean of examples per period."""
SAVED_FIELDS = "period", "begun", "bought", "allowed", "per_period", "ended", "typical", "goes_on", "horizon"


class PeriodSpending(WarmupSpending):
    """Spending within the current period, with an estimate of the number of examples per period.

    Attributes
    ----------
    period, begun
        Number of the current period, and number of examples before it.
    bought, allowed
        Labels bought in it, and its budget.
    per_period
        Budget of each later period.
    ended, typical
        Number of finished periods, and a weighted mean of their lengths with most weight on recent ones.
    coming
        Number of announced examples of each later period.
    goes_on
        Whether a period continued after all of its announced examples.
    """

    saved_fields = WarmupSpending.saved_fields + SAVED_FIELDS

    def __init__(self, rule: PerPeriod) -> None:
        self.period, self.begun = UNKNOWN, 0
        self.bought, self.allowed, self.per_period = 0, rule.budget, rule.budget
        self.ended, self.typical = 0, float(rule.rows)
        self.coming: dict[int, int] = {}
        self.goes_on = False
        super().__init__(rule, rule.rows)

    @property
    def left(self) -> int:
        """Number of labels left in the current period."""
        return self.allowed - self.bought

    def expect(self, coming: Mapping[int, int]) -> None:
        """Announce the upcoming examples by period, for example those of a file.

        Parameters
        ----------
        coming
            Number of examples by period. Late examples count for the period that is then current.
        """
        self.coming = dict(sorted(coming.items()))
        period = min(self.coming, default=UNKNOWN) if self.period == UNKNOWN else self.period
        announced = self.coming.pop(period, 0)
        if announced:
            seen = self.position - self.begun
            self.goes_on = self.goes_on or seen > 0
            self.cut(self.begun + self._expected_rows(seen + announced))

    def enter(self, domain: Ints | None) -> None:
        period = int(domain[0]) if domain is not None else UNKNOWN
        if period > self.period:
            if self.period != UNKNOWN:
                self._begin_period()
                announced = self.coming.pop(period, 0)
                rows = self._expected_rows(announced) if announced else self._typical_rows
                self.cut(self.begun + rows)
            self.period = period

    def until_change(self, count: int, domain: Ints | None) -> int:
        """Enter the period of the next example; return the number of examples before the next change."""
        self.enter(domain)
        if domain is not None:
            later = domain[:count] > self.period
            count = int(later.argmax()) if later.any() else len(later)
        return super().until_change(count, domain)

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        self.bought += spent
        super().record(charged, spent, uncertainty)

    def refund(self, charge: Charge) -> None:
        """Refund one query. Its label may be bought again while its period is current."""
        super().refund(charge)
        self.bought -= charge.place >= self.begun

    def add(self, labels: int, rows: int | None = None) -> None:
        """Add labels to the current period, spent over `rows` examples or over its expected remainder."""
        self.allowed += labels
        self.cut(self.horizon if rows is None else self.position + rows)

    def save(self) -> dict[str, Any]:
        return super().save() | {"coming": [list(pair) for pair in self.coming.items()]}

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        self.coming = dict(values["coming"])

    def _begin_period(self) -> None:
        self.ended += 1
        weight = max(1 / self.ended, SLOWEST_WEIGHT)
        self.typical += weight * (self.position - self.begun - self.typical)
        self.begun, self.bought, self.allowed = self.position, 0, self.per_period

    @property
    def _typical_rows(self) -> int:
        return max(1, round(self.typical))

    def _expected_rows(self, announced: int) -> int:
        """Return the expected number of examples of a period with `announced` examples.

        The announced examples are all of them if a later period is announced too, or if no earlier period
        exceeded its announced number. Otherwise more may follow. For the first period, `rows` of the rule is
        the caller's estimate.
        """
        if self.coming or (self.ended and not self.goes_on):
            return announced
        return max(announced, self._typical_rows)


@dataclass(frozen=True)
class PerPeriod(Rule):
    """Buy at most `budget` labels in each period, evenly, half of them at random.

    The caller passes the period of each example as its domain, an increasing number. An example of an
    earlier period is late and counts for the current one, as does an example of period `UNKNOWN`.

    The probability is that of `Steady(budget, rows)`, with the labels and examples left in the period, and
    with a warm-up in the first period only. The number of examples of a period is estimated as the mean of
    the periods before it, unless `PeriodSpending.expect` announces another number. If fewer examples arrive,
    labels lapse; if more arrive, no label is left for the last of them.

    A retracted label may be bought again within its own period.

    Parameters
    ----------
    budget
        Labels per period, at least 1.
    rows
        Expected number of examples of the first period, at least 1.

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
