"""What a budget means, in every command and adapter, and the rule that spends it.

A whole number counts labels: 500, and 1 is one label. A percent sign or a point (in Python a float) makes it
a share of the stream in (0, 1]: 5% or 0.05, and 1.0 is every label. Numbers and their texts mean the same.

Where it is known how many rows come, a share stands for the nearest count, at least 1, and no more labels are
ever bought. That is so in `qufur run`, `qufur plan` and `fit`, and wherever a horizon is given. Elsewhere a
share ρ is a rate: of the first n rows `Steady` never labels more than ρn + 10, and `Paced` of any n rows in a
row no more than ρn + 1000ρ + 32.
"""

from __future__ import annotations

import numbers
from typing import Any

from qufur.arrays import as_count, as_number, is_whole
from qufur.counts import counted
from qufur.errors import invalid
from qufur.rules.base import Rule
from qufur.rules.bucket import usual_burst
from qufur.rules.paced import Paced
from qufur.rules.qufur import QuFUR
from qufur.rules.steady import Steady
from qufur.rules.uniform import Uniform

ALLOWED = "a whole number of labels of at least 1, or a share in (0, 1] such as 0.05 or 5%"


def as_amount(budget: Any, owner: str, parameter: str = "budget") -> int | float:
    """Return a count of labels as an int, or a share as a float.

    >>> [as_amount(budget, "docs") for budget in (500, "500", 0.05, "0.05", "5%", "1.1%", 1, 1.0)]
    [500, 500, 0.05, 0.05, 0.05, 0.011, 1, 1.0]
    """
    number: Any = _parsed(budget) if isinstance(budget, str) else budget
    if is_whole(number) and number >= 1:
        return as_count(number, parameter, owner)
    share = isinstance(number, numbers.Real) and not isinstance(number, numbers.Integral)
    if not (share and 0 < number <= 1):
        raise invalid(parameter, owner, ALLOWED, repr(budget), "1 is one label, 1.0 is every one.")
    return float(number)


def labels_of(amount: int | float, rows: int) -> int:
    """Return how many of so many rows a count or a share of them may label.

    >>> labels_of(500, 3000), labels_of(0.05, 3000), labels_of(0.05, 3)
    (500, 150, 1)
    """
    return amount if isinstance(amount, int) else max(1, round(amount * rows))


def labels_within(budget: Any, rows: int, owner: str, parameter: str = "budget") -> int:
    """Return how many labels a budget buys on a stream of so many rows, and refuse more than there are.

    >>> labels_within("5%", 3000, "docs")
    150
    """
    labels = labels_of(as_amount(budget, owner, parameter), rows)
    if labels > rows:
        raise invalid(parameter, owner, f"at most {counted(rows, 'label')}, one for each row", repr(budget))
    return labels


def rule_from_budget(
    budget: Any,
    alpha: Any = None,
    *,
    rows: int | None,
    owner: str,
    parameter: str = "budget",
    floor: float = 0.0,
    remedy: str = "",
    steady: bool = False,
    burst: float | None = None,
) -> Rule:
    """Return `Paced` or `Steady`, which spend the budget; or with α `QuFUR(alpha)`, which it only caps.

    Parameters
    ----------
    budget
        A count or a share; None, for no cap, only beside alpha.
    alpha
        α of `QuFUR`, or None.
    rows
        How many will come, or None if that is not known: a share is then needed, and beside alpha a count.
    owner, parameter
        Whose budget it is, and what it is called there.
    floor
        The least probability of any row, beside alpha or for `Paced`.
    remedy
        How one says there how many rows will come.
    steady
        Whether `Steady` spends the budget: the rule for models that may be wrong.
    burst
        Labels that a rate may be exceeded by; None for what the rule has by default.

    Examples
    --------
    >>> rule_from_budget("5%", rows=3000, owner="docs")
    Paced(budget=150, horizon=3000, burst=None, floor=0.0)
    >>> rule_from_budget("5%", rows=None, owner="docs", steady=True)
    Steady(budget=0.05, horizon=None, burst=10.0)
    >>> rule_from_budget(50, 2.0, rows=None, owner="docs")
    QuFUR(alpha=2.0, power=1.0, budget=50, floor=0.0)
    """
    amount = None if budget is None and alpha is not None else as_amount(budget, owner, parameter)
    if amount is not None and rows is not None:
        amount = labels_of(amount, rows)
    if alpha is not None:
        if isinstance(amount, float):
            allowed = "a count beside alpha, while it is not known how many rows come"
            raise invalid(parameter, owner, allowed, repr(budget), remedy)
        return QuFUR(as_number(alpha, "alpha", owner, low=0), budget=amount, floor=floor)
    if rows is None and not isinstance(amount, float):
        allowed = "a share such as 0.05, while it is not known how many rows come"
        raise invalid(parameter, owner, allowed, repr(budget), remedy)
    if steady:
        return Steady(amount, rows) if burst is None else Steady(amount, rows, burst=burst)
    return Paced(amount, rows, burst=burst, floor=floor)


def promise(rule: Rule) -> str | None:
    """Say how many labels a share buys at most; None for counts, and for rules without a budget.

    >>> promise(Steady(0.05))
    'At no time are more than 5% of the rows asked about, and 10 labels on top, bought.'
    >>> promise(Paced(0.05, burst=30))
    'At no time are more than 5% of the rows asked about, and 30 labels on top, bought.'
    >>> promise(Uniform(0.05))
    'Each row is bought with a chance of 5%; by chance it may be more of them.'
    """
    if rule.limit is not None:
        return None
    if isinstance(rule, Uniform):
        return f"Each row is bought with a chance of {_percent(rule.rate)}; by chance it may be more of them."
    if not isinstance(rule, Steady | Paced):
        return None
    burst = usual_burst(rule.share) if rule.burst is None else rule.burst
    share = f"more than {_percent(rule.share)} of the rows asked about"
    return f"At no time are {share}, and {burst:g} labels on top, bought."


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def _parsed(text: str) -> int | float | None:
    try:
        if text.isdecimal():
            return int(text)
        # 1.1% is written as 1.1e-2: the number nearest to it, which 1.1 / 100 is not.
        return float(f"{text[:-1].rstrip()}e-2" if text.endswith("%") else text)
    except ValueError:
        return None
