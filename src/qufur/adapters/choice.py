"""The rule that a budget, or an α, stands for."""

from __future__ import annotations

from typing import Any

from qufur.arrays import is_whole
from qufur.errors import invalid
from qufur.rules import Paced, QuFUR, Rule

USUAL_RATE = 0.05


def chosen_rule(rule: Rule | None, budget: Any, alpha: float | None, owner: str) -> Rule:
    """Return the rule itself, QuFUR(α) with a budget, or the pace of a rate.

    >>> chosen_rule(None, 50, 2.0, "Face")
    QuFUR(alpha=2.0, power=1.0, budget=50, floor=0.0)
    >>> chosen_rule(None, 0.1, None, "Face")
    Paced(budget=0.1, horizon=None, burst=None, floor=0.0)
    """
    if rule is not None:
        if not isinstance(rule, Rule) or rule.told_domain:
            raise invalid("rule", owner, "a rule that is not told the domain", repr(rule))
        if budget is not None or alpha is not None:
            received = f"budget={budget!r} and alpha={alpha!r}"
            raise invalid("budget and alpha", owner, "None beside a rule", received, "Give them to the rule.")
        return rule
    if alpha is not None:
        return QuFUR(alpha, budget=budget)
    if is_whole(budget):
        remedy = "Give alpha as well, or rule=Paced(budget, horizon); a rate of 1 is 1.0."
        raise invalid("budget", owner, "a rate in (0, 1] without alpha", repr(budget), remedy)
    return Paced(USUAL_RATE if budget is None else budget)
