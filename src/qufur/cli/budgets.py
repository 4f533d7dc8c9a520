"""The rule that a person asks for by saying what labels may cost."""

from __future__ import annotations

from collections.abc import Callable

from qufur.errors import invalid
from qufur.rules import FixedBudget, Paced, QuFUR, Rule, Uniform

_BUDGET = "a number of labels of at least 1, or a rate such as 5%"


def rule_of(
    budget: str | None,
    alpha: float | None,
    fixed_budget: int | None,
    horizon: int | None,
    *,
    at_random: bool = False,
) -> Callable[[int], Rule]:
    """Return the rule as a function of how many rows the first table has, the horizon by default.

    >>> rule_of("50", None, None, None)(1000)
    Paced(budget=50, horizon=1000, burst=None, floor=0.0)
    >>> rule_of("50", 2.0, None, None)(1000)
    QuFUR(alpha=2.0, power=1.0, budget=50, floor=0.0)
    >>> rule_of("50", None, None, None, at_random=True)(1000)
    Uniform(rate=0.05, budget=50)
    """
    if at_random:
        _left_out("--at-random", alpha=alpha, fixed_budget=fixed_budget)
    if fixed_budget is not None:
        _left_out("--fixed-budget", budget=budget, alpha=alpha)
        return lambda rows: FixedBudget(fixed_budget, horizon or rows)
    if alpha is not None:
        _left_out("--alpha", horizon=horizon)
        rule = QuFUR(alpha, budget=None if budget is None else _labels(budget))
        return lambda rows: rule
    if budget is None:
        remedy = "--alpha or --fixed-budget can take its place."
        raise invalid("--budget", "qufur ask", "given for the first table", "none", remedy)
    if budget.endswith("%"):
        _left_out("a rate", horizon=horizon)
        steady = Uniform(_rate(budget)) if at_random else Paced(_rate(budget))
        return lambda rows: steady
    labels = _labels(budget)
    if at_random:
        return lambda rows: Uniform.for_budget(labels, horizon or rows, None)
    return lambda rows: Paced(labels, horizon or rows)


def _left_out(beside: str, **others: object) -> None:
    for name, value in others.items():
        if value is not None:
            raise invalid(f"--{name.replace('_', '-')}", "qufur ask", f"left out with {beside}", value)


def _labels(text: str) -> int:
    if not (text.isdecimal() and int(text) >= 1):
        raise invalid("--budget", "qufur ask", _BUDGET, repr(text))
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text.removesuffix("%")) / 100
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1:
        raise invalid("--budget", "qufur ask", _BUDGET, repr(text))
    return rate
