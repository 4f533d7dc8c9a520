"""What a budget would buy, known before a label is bought."""

from __future__ import annotations

import math
from collections.abc import Callable

from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Model
from qufur.rules import Rule
from qufur.run import run
from qufur.streams import Stream


def matching_parameter(
    rule_of: Callable[[float], Rule], model: Model, stream: Stream, *, seed: int = 0
) -> float:
    """Return a parameter at which a rule just spends its whole budget on a stream, and 1 % less would not do.

    The spend of a label-free model depends on inputs and coins only, so it is known without buying a label.
    Where nothing spends the budget, the parameter is above 10¹².

    Parameters
    ----------
    rule_of
        Makes a rule with a budget from a number above 0; a larger number must spend more.
    model
        A label-free model.
    stream
        Its inputs count; its labels change nothing.
    seed
        Of the coins.

    Examples
    --------
    >>> from qufur import QuFUR, Ridge, streams
    >>> stream = streams.HiddenDomains([100, 100], [6, 2])
    >>> alpha = matching_parameter(lambda alpha: QuFUR(alpha, budget=40), Ridge(stream.dim), stream)
    >>> round(alpha, 2), run(Learner(Ridge(stream.dim), QuFUR(alpha)), stream).queries
    (0.79, 40)
    """
    if not model.label_free:
        raise invalid("model", "matching_parameter", "label-free", repr(model))
    if rule_of(1.0).budget is None:
        raise invalid("rule_of", "matching_parameter", "a maker of rules with a budget", "rules without")
    low, guess, high = 0.0, 1.0, math.inf
    while high > 1.01 * low and guess < 1e12:
        learner = Learner(model, rule_of(guess), seed=seed)
        spent = run(learner, stream).queries
        low, high = (low, guess) if learner.left == 0 else (guess, high)
        # Queries grow about as the square root of α (Theorem 1): a first guess inside the bracket.
        aim = guess * (learner.rule.budget or 1) ** 2 / max(spent, 1) ** 2
        guess = aim * 1.02 if low < aim * 1.02 < high else _inside(low, high)
    return guess if high == math.inf else high


def _inside(low: float, high: float) -> float:
    if high == math.inf:
        return 4 * low
    return high / 4 if low == 0 else math.sqrt(low * high)
