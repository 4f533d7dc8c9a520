"""Every rule at the same budgets: the comparison behind `qufur run`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from qufur.models import Model
from qufur.planning.search import matching_parameter
from qufur.rules import RULES, Rule
from qufur.rules.base import Domains
from qufur.rules.from_budget import labels_of
from qufur.streams import Stream
from qufur.sweep.grid import Grid, ModelOf, RuleOf

LABELS_DECIDE = "for classes Δ depends on labels, so inputs alone do not say what spends the budget."


def budget_grid(stream: Stream, model: ModelOf, shares: Sequence[float]) -> tuple[Grid, dict[str, str]]:
    """Return a grid for `sweep` whose parameter is the share of the stream's labels that may be bought.

    Parameters that only trying out can set, such as α, are the ones that spend the budget; they are found on
    inputs alone. Rules that cannot be had on this stream are returned beside the grid, with the reason.
    """
    grid: dict[str, tuple[RuleOf, Sequence[float]]] = {}
    left_out: dict[str, str] = {}
    for kind in RULES:
        usable = []
        for share in shares:
            try:
                rule = kind.for_budget(labels_of(share, stream.horizon), stream.horizon, _domains(stream))
                if not isinstance(rule, Rule) and not model(stream).label_free:
                    left_out[kind.__name__] = LABELS_DECIDE
                    break
                usable.append(share)
            except ValueError as reason:
                left_out.setdefault(kind.__name__, str(reason))
        if usable:
            grid[kind.__name__] = _rule_at(kind, model), usable
    return grid, left_out


def rule_for_budget(kind: type[Rule], budget: int, model: Model, stream: Stream, *, seed: int = 0) -> Rule:
    """Return a rule of this kind that spends a budget on a stream; α and the like are found on its inputs.

    A learner with this seed then spends all of it; others do on average, capped at it.

    >>> from qufur import QuFUR, Ridge, streams
    >>> stream = streams.HiddenDomains([100, 100], [6, 2])
    >>> rule_for_budget(QuFUR, 40, Ridge(stream.dim), stream)
    QuFUR(alpha=0.79..., power=1.0, budget=40, floor=0.0)
    """
    rule: Any = kind.for_budget(budget, stream.horizon, _domains(stream))
    return rule if isinstance(rule, Rule) else rule(matching_parameter(rule, model, stream, seed=seed))


def _rule_at(kind: type[Rule], model: ModelOf) -> RuleOf:
    @cache  # a file is one stream for all seeds: what was tried out for one serves the others
    def rule_at(share: float, stream: Stream) -> Rule:
        return rule_for_budget(kind, labels_of(share, stream.horizon), model(stream), stream)

    return rule_at


def _domains(stream: Stream) -> Domains | None:
    durations, dims = getattr(stream, "durations", None), getattr(stream, "dims", None)
    return None if durations is None or dims is None else (durations, dims)
