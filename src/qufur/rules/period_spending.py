"""Spending evenly within a period, and anew in the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.rules.spending import Charge
from qufur.rules.steady_spending import WithFront

if TYPE_CHECKING:
    from qufur.rules.per_period import PerPeriod

UNKNOWN = int(np.iinfo(np.int64).min)
"""The period of an example of which nobody knows when it came."""
SLOWEST_WEIGHT = 0.25
"""That of one period in the mean number of examples, once there were some."""
KEPT = "period", "begun", "bought", "allowed", "per_period", "ended", "typical", "goes_on", "horizon"


class PeriodSpending(WithFront):
    """What was spent in the running period, of what may be, and how many examples periods have.

    Attributes
    ----------
    period, begun
        The number of the running period, and how many examples came before it.
    bought, allowed
        Labels bought in it, and those that may be.
    per_period
        Labels that may be bought in a later one.
    ended, typical
        How many periods ended, and how many examples they had, the last ones counting most.
    coming
        Examples that are known to come, by later periods.
    goes_on
        Whether examples of a period came after all that were known to come.
    """

    def __init__(self, rule: PerPeriod) -> None:
        self.period, self.begun = UNKNOWN, 0
        self.bought, self.allowed, self.per_period = 0, rule.budget, rule.budget
        self.ended, self.typical = 0, float(rule.rows)
        self.coming: dict[int, int] = {}
        self.goes_on = False
        super().__init__(rule, rule.rows)

    @property
    def left(self) -> int:
        """Labels that may still be bought in the running period."""
        return self.allowed - self.bought

    @property
    def labels_left(self) -> Floats:
        return np.array([self.left], dtype=np.float64)

    def expect(self, coming: Mapping[int, int]) -> None:
        """Take note of how many examples come next, by period: all that are known to come, of a file say.

        Parameters
        ----------
        coming
            Examples by period; late ones count for the period that runs by then.
        """
        self.coming = dict(sorted(coming.items()))
        period = min(self.coming, default=UNKNOWN) if self.period == UNKNOWN else self.period
        known = self.coming.pop(period, 0)
        if known:
            seen = self.place - self.begun
            self.goes_on = self.goes_on or seen > 0
            self.cut(self.begun + self._rows_of(seen + known))

    def enter(self, domain: Ints | None) -> None:
        period = int(domain[0]) if domain is not None else UNKNOWN
        if period > self.period:
            if self.period != UNKNOWN:
                self._begin_period()
                known = self.coming.pop(period, 0)
                self.cut(self.begun + (self._rows_of(known) if known else self._typical_rows))
            self.period = period

    def until_change(self, count: int, domain: Ints | None) -> int:
        """Let a period begin with the next example, and none before the last of those that are returned."""
        self.enter(domain)
        if domain is not None:
            later = domain[:count] > self.period
            count = int(later.argmax()) if later.any() else len(later)
        return super().until_change(count, domain)

    def decide_one(
        self, uncertainty: float, rng: np.random.Generator, domain: Ints | None
    ) -> tuple[bool, float, Charge, bool]:
        self.enter(domain)
        return super().decide_one(uncertainty, rng, domain)

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        self.bought += spent
        super().record(charged, spent, uncertainty)

    def refund(self, charge: Charge) -> None:
        """Take back one query; its label may be bought again if its period still runs."""
        super().refund(charge)
        self.bought -= charge.place >= self.begun

    def add(self, labels: int, rows: int | None = None) -> None:
        """Let more labels be bought in the running period, by default over the rest that is expected."""
        self.allowed += labels
        self.cut(self.horizon if rows is None else self.place + rows)

    def save(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in KEPT}
        return super().save() | own | {"coming": [list(pair) for pair in self.coming.items()]}

    def restore(self, values: dict[str, Any]) -> None:
        self.coming = dict(values["coming"])
        for name in KEPT:
            setattr(self, name, values[name])
        super().restore(values)

    def _begin_period(self) -> None:
        self.ended += 1
        weight = max(1 / self.ended, SLOWEST_WEIGHT)
        self.typical += weight * (self.place - self.begun - self.typical)
        self.begun, self.bought, self.allowed = self.place, 0, self.per_period

    @property
    def _typical_rows(self) -> int:
        return max(1, round(self.typical))

    def _rows_of(self, known: int) -> int:
        """Return how many examples a period is expected to have of which so many are known to come.

        They are all, if a later period is known to come too. If not, there may be others, which is likely
        once it was so; of the first period, somebody may know.
        """
        if self.coming or (self.ended and not self.goes_on):
            return known
        return max(known, self._typical_rows)
