"""Comparison of all rules at the same budgets, behind `qufur run`."""

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

LABELS_DECIDE = (
    "with classes the uncertainty depends on labels, "
    "so inputs alone do not tell which parameter spends the budget."
)


def budget_grid(
    stream: Stream, model: ModelOf, shares: Sequence[float], further: Sequence[type[Rule]] = ()
) -> tuple[Grid, dict[str, str]]:
    """Return a grid for `sweep` of all rules and `further` ones, by the budget as a share of the stream.

    Parameters without a closed form, such as α, are searched on the inputs alone so that they spend the
    budget. Rules that are not available on this stream are returned beside the grid, with the reason.
    """
    grid: dict[str, tuple[RuleOf, Sequence[float]]] = {}
    unavailable: dict[str, str] = {}
    for rule_class in (*RULES, *further):
        usable = []
        for share in shares:
            try:
                rule = rule_class.for_budget(
                    labels_of(share, stream.horizon), stream.horizon, _domains(stream)
                )
                if not isinstance(rule, Rule) and not model(stream).tags.label_free:
                    unavailable[rule_class.__name__] = LABELS_DECIDE
                    break
                usable.append(share)
            except ValueError as reason:
                unavailable.setdefault(rule_class.__name__, str(reason))
        if usable:
            grid[rule_class.__name__] = _RuleAt(rule_class, model), usable
    return grid, unavailable


def rule_for_budget(
    rule_class: type[Rule], budget: int, model: Model, stream: Stream, *, seed: int = 0
) -> Rule:
    """Return a rule of this class that spends a budget on a stream; its α is searched on the inputs.

    A learner with this seed spends the whole budget; with other seeds it does on average, capped at it.

    >>> from qufur import QuFUR, Ridge, streams
    >>> stream = streams.HiddenDomains([100, 100], [6, 2])
    >>> rule_for_budget(QuFUR, 40, Ridge(stream.dim), stream)
    QuFUR(alpha=0.79..., power=1.0, budget=40, floor=0.0)
    """
    rule: Any = rule_class.for_budget(budget, stream.horizon, _domains(stream))
    return rule if isinstance(rule, Rule) else rule(matching_parameter(rule, model, stream, seed=seed))


class _RuleAt:
    """Rule of a class at a share of a stream. The seeds of a file have one stream and share one search."""

    def __init__(self, rule_class: type[Rule], model: ModelOf) -> None:
        self._class, self._model = rule_class, model
        self._search = cache(self._rule)

    def __call__(self, share: float, stream: Stream) -> Rule:
        return self._search(share, stream)

    def __reduce__(self) -> tuple[Any, ...]:  # a cache cannot be sent to another process
        return _RuleAt, (self._class, self._model)

    def _rule(self, share: float, stream: Stream) -> Rule:
        return rule_for_budget(self._class, labels_of(share, stream.horizon), self._model(stream), stream)


def _domains(stream: Stream) -> Domains | None:
    durations, dims = getattr(stream, "durations", None), getattr(stream, "dims", None)
    return None if durations is None or dims is None else (durations, dims)
