"""Parser of budgets, used by all commands and adapters, and the rule that spends a budget.

An integer counts labels: 500 labels, and 1 is one label. A percent sign or a decimal point (in Python a
float) makes it a share of the stream in (0, 1]: 5% or 0.05, and 1.0 is every label. A number and its text
have the same meaning.

If the number of rows is known, a share is rounded to the nearest count, at least 1, and is a hard cap. This
applies to `qufur run`, `qufur plan` and `fit`, and wherever a horizon is given. Otherwise a share ρ is a
rate: `Steady` labels at most ρn + 10 of the first n rows, and `Paced` at most ρn + 1000ρ + 32 of any n
consecutive rows.
"""

from __future__ import annotations

import numbers
from typing import Any

from qufur._internal.counts import counted
from qufur.arrays import as_count, as_number, is_integer
from qufur.errors import invalid
from qufur.rules.base import Rule
from qufur.rules.paced import Paced, default_burst
from qufur.rules.qufur import QuFUR
from qufur.rules.steady import Steady
from qufur.rules.uniform import Uniform

ALLOWED = "a whole number of labels of at least 1, or a share in (0, 1] such as 0.05 or 5%"


def as_amount(budget: Any, owner: str, parameter: str = "budget") -> int | float:
    """Return a count of labels as an int, or a share as a float.

    >>> [as_amount(budget, "docs") for budget in (500, "500", 0.05, "0.05", "5%", "1.1%", 1, 1.0)]
    [500, 500, 0.05, 0.05, 0.05, 0.011, 1, 1.0]
    """
    number: Any = _parse(budget) if isinstance(budget, str) else budget
    if is_integer(number) and number >= 1:
        return as_count(number, parameter, owner)
    is_share = isinstance(number, numbers.Real) and not isinstance(number, numbers.Integral)
    if not (is_share and 0 < number <= 1):
        raise invalid(parameter, owner, ALLOWED, repr(budget), "1 is one label, 1.0 is every label.")
    return float(number)


def labels_of(amount: int | float, rows: int) -> int:
    """Return the number of labels that a count or a share allows on `rows` rows.

    >>> labels_of(500, 3000), labels_of(0.05, 3000), labels_of(0.05, 3)
    (500, 150, 1)
    """
    return amount if isinstance(amount, int) else max(1, round(amount * rows))


def labels_within(budget: Any, rows: int, owner: str, parameter: str = "budget") -> int:
    """Return the number of labels that a budget buys on `rows` rows; raise `InvalidError` if it exceeds them.

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
    """Return `Paced` or `Steady`, which spend the budget, or with α `QuFUR(alpha)`, capped at the budget.

    Parameters
    ----------
    budget
        A count or a share. None, for no cap, requires alpha.
    alpha
        α of `QuFUR`, or None.
    rows
        Number of rows of the stream, or None if unknown: the budget must then be a share, or with alpha a
        count.
    owner, parameter
        Name of the caller and of its budget parameter, for error messages.
    floor
        Minimum query probability, for `QuFUR` and `Paced`.
    remedy
        Error text that says how to pass the number of rows.
    steady
        Whether to return `Steady`, the rule for models that may be misspecified, instead of `Paced`.
    burst
        Number of labels by which a rate may be exceeded; None for the default of the rule.

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
            allowed = "a count when alpha is given and the number of rows is unknown"
            raise invalid(parameter, owner, allowed, repr(budget), remedy)
        return QuFUR(as_number(alpha, "alpha", owner, low=0), budget=amount, floor=floor)
    if rows is None and not isinstance(amount, float):
        allowed = "a share such as 0.05 when the number of rows is unknown"
        raise invalid(parameter, owner, allowed, repr(budget), remedy)
    if steady:
        return Steady(amount, rows) if burst is None else Steady(amount, rows, burst=burst)
    return Paced(amount, rows, burst=burst, floor=floor)


def promise(rule: Rule) -> str | None:
    """Describe the maximum number of labels that a share buys; None for counts and rules without a budget.

    >>> promise(Steady(0.05))
    'At any time, at most 5% of the rows seen plus 10 labels have been queried.'
    >>> promise(Paced(0.05, burst=30))
    'At any time, at most 5% of the rows seen plus 30 labels have been queried.'
    >>> promise(Uniform(0.05))
    'Each row is queried with a probability of 5%; their share may exceed it by chance.'
    """
    if rule.limit is not None:
        return None
    if isinstance(rule, Uniform):
        rate = _percent(rule.rate)
        return f"Each row is queried with a probability of {rate}; their share may exceed it by chance."
    if not isinstance(rule, Steady | Paced):
        return None
    burst = default_burst(rule.share) if rule.burst is None else rule.burst
    share = _percent(rule.share)
    return f"At any time, at most {share} of the rows seen plus {burst:g} labels have been queried."


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def _parse(text: str) -> int | float | None:
    try:
        if text.isdecimal():
            return int(text)
        # Parse 1.1% as 1.1e-2, the nearest float; 1.1 / 100 is a different float.
        return float(f"{text[:-1].rstrip()}e-2" if text.endswith("%") else text)
    except ValueError:
        return None
