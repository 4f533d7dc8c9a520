"""How the work of `qufur ask` starts: the first table, and what is said with it, decide what stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qufur import models
from qufur.cli.columns import Columns
from qufur.cli.model import ModelName, check_for_ridge
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.rules import FixedBudget, Rule, Uniform
from qufur.rules.from_budget import as_amount, labels_of, rule_from_budget
from qufur.tables.source import Source
from qufur.tables.written import heading
from qufur.workbook import Workbook

if TYPE_CHECKING:
    from qufur.models import Experts


def started(data: Source, said: dict[str, Any], columns: Columns, *, quiet: bool) -> tuple[Workbook, int]:
    """Return a workbook of which nothing is asked yet, and the number of rows of its first table.

    Parameters
    ----------
    data
        The table.
    said, columns
        The options by name, None where one was not given, and what was said of columns.
    quiet
        Whether no progress is shown.
    """
    # What can be wrong with these is said before a long table is looked at.
    rule, model = rule_of(said), _model_of(said)
    columns.check("qufur ask")
    target = said["--target"] or "label"
    check_target(said["--id"], target)
    rows = columns.rows(data, quiet=quiet)
    there = target if target in rows.columns else None
    encoding = columns.encoding(rows, scale=not model.scales_inputs, target=there, id=said["--id"])
    model = dataclasses.replace(model, dim=encoding.dim)
    learner = Learner(model, rule(rows.count), seed=said["--seed"] or 0)
    return Workbook(learner, encoding, said["--id"], target), rows.count


def _model_of(said: dict[str, Any]) -> Experts | Ridge:
    """Return the model for inputs of any number of columns, such as 1."""
    if said["--model"] is not ModelName.ridge:
        return models.Experts(1, label_range=said["--label-range"])
    if said["--label-range"] is None:
        remedy = "Say which is the lowest and which the highest label, such as --label-range 0 100."
        raise invalid("--label-range", "qufur ask", "given with --model ridge", "none", remedy)
    return Ridge(1, intercept=True, label_range=said["--label-range"])


def rule_of(said: dict[str, Any]) -> Callable[[int], Rule]:
    """Return the rule as a function of how many rows the first table has: what a count is for by default.

    More tables may come, so a share is of `--horizon` rows, and without that a rate.

    >>> names = ["--model", "--budget", "--alpha", "--fixed-budget", "--at-random", "--horizon", "--burst"]
    >>> options = dict.fromkeys(names)
    >>> rule_of(options | {"--budget": "50"})(1000)
    Steady(budget=50, horizon=1000, burst=10.0)
    >>> rule_of(options | {"--budget": "5%", "--at-random": True})(1000)
    Uniform(rate=0.05, budget=None)
    """
    check_for_ridge(
        said["--model"], "qufur ask", {name: said[name] for name in ("--alpha", "--fixed-budget")}
    )
    horizon, alpha, budget = said["--horizon"], said["--alpha"], _amount(said, "--budget")
    fixed = _amount(said, "--fixed-budget")
    if said["--at-random"]:
        _check_left_out("--at-random", said, "--alpha", "--fixed-budget", "--burst")
    if horizon is not None or not isinstance(budget, float):
        _check_left_out("a count of labels, which --horizon makes of a share", said, "--burst")
    if fixed is not None:
        _check_left_out("--fixed-budget", said, "--budget", "--alpha")
        return lambda rows: FixedBudget(labels_of(fixed, horizon or rows), horizon or rows)
    if alpha is not None and not isinstance(budget, float):
        _check_left_out("--alpha", said, "--horizon")
    if budget is None and alpha is None:
        remedy = "With --model ridge, --alpha or --fixed-budget can take its place."
        raise invalid("--budget", "qufur ask", "given for the first table", "none", remedy)

    def spend(rows: int | None) -> Rule:
        rule = rule_from_budget(
            budget,
            alpha,
            rows=rows,
            owner="qufur ask",
            parameter="--budget",
            remedy="--horizon says how many.",
            steady=said["--model"] is not ModelName.ridge,
            burst=said["--burst"],
        )
        return Uniform(rule.share or 1.0, budget=rule.limit) if said["--at-random"] else rule

    if alpha is None and isinstance(budget, int):
        return lambda rows: spend(horizon or rows)
    rule = spend(horizon)
    return lambda rows: rule


def _amount(said: dict[str, Any], name: str) -> int | float | None:
    return None if said[name] is None else as_amount(said[name], "qufur ask", name)


def _check_left_out(beside: str, said: dict[str, Any], *others: str) -> None:
    for name in others:
        if said[name] is not None:
            raise invalid(name, "qufur ask", f"left out with {beside}", said[name])


def check_target(id: str | None, target: str) -> None:
    """Refuse one column for two things: a file with both could not be told."""
    if id is not None and heading(id) == heading(target):
        raise invalid("--target", "qufur ask", "another column than --id", repr(target))
