"""What `budget`, `alpha` and `random_state` of an estimator mean to a learner."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from qufur.arrays import as_number, is_whole
from qufur.errors import invalid
from qufur.rules import Paced, QuFUR, Rule, Uniform


def rule_for(budget: Any, alpha: Any, *, floor: float, rows: int | None, owner: str) -> Rule:
    """Return the rule that spends a budget on so many rows, or on rows whose number is not known.

    Parameters
    ----------
    budget
        None for every label that the rule wants, an int for a count, a float in (0, 1] for a share of the
        rows: a rate where their number is not known.
    alpha
        None for `Paced`, which spends the budget; a number for `QuFUR(alpha)`, which the budget only caps.
    floor
        The least probability of any row.
    rows
        How many will come, or None.
    owner
        Whose parameters these are.

    Examples
    --------
    >>> rule_for(0.1, None, floor=0.0, rows=200, owner="docs").budget
    20
    """
    labels = _as_labels(budget, rows, owner)
    if alpha is not None:
        if isinstance(labels, float):
            remedy = "A share needs the number of rows: call fit, or leave alpha out."
            raise invalid("budget", owner, "an int or None beside alpha in partial_fit", repr(budget), remedy)
        return QuFUR(as_number(alpha, "alpha", owner, low=0), budget=labels, floor=floor)
    if labels is None:
        return Uniform(1.0)
    if rows is None and not isinstance(labels, float):
        remedy = "A count can be paced over the rows of fit; or give alpha."
        raise invalid("budget", owner, "a float or None in partial_fit", repr(budget), remedy)
    return Paced(labels, rows, floor=floor)


def seed_of(random_state: Any, owner: str) -> int | np.random.Generator:
    """Return the seed of a learner; a RandomState is drawn from, and None is a fresh start each time.

    >>> seed_of(3, "docs")
    3
    """
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if not is_whole(random_state) or random_state < 0:
        allowed = "None, an integer of at least 0, a RandomState or a Generator"
        raise invalid("random_state", owner, allowed, repr(random_state))
    return int(random_state)


def _as_labels(budget: Any, rows: int | None, owner: str) -> int | float | None:
    """Return a count, a rate where the rows are not counted, or None."""
    if budget is None or (is_whole(budget) and budget >= 1):
        return budget if budget is None else int(budget)
    real = isinstance(budget, numbers.Real) and not isinstance(budget, numbers.Integral)
    if not (real and 0 < budget <= 1):
        allowed = "None, an integer of at least 1, or a float above 0 and at most 1"
        raise invalid("budget", owner, allowed, repr(budget), "1 is one label, 1.0 is all of them.")
    return float(budget) if rows is None else max(1, round(budget * rows))
