"""How the work starts: the first table, and what is said with it, decide what stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from qufur.bookkeeping.first_rule import NONE_YET
from qufur.cli.classes import as_classes, on_labels, surveyed
from qufur.cli.columns import Columns
from qufur.cli.growth import on_first_table
from qufur.cli.model import check_for_ridge, check_model, is_experts, model_of
from qufur.cli.periods import first_periods
from qufur.cli.target import check_new, check_target
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.rules import FixedBudget, Rule, Uniform
from qufur.rules.from_budget import as_amount, labels_of, rule_from_budget
from qufur.tables.source import Source
from qufur.workbook import Workbook

SPENDING = "--budget", "--per", "--time", "--alpha", "--fixed-budget", "--at-random", "--horizon", "--burst"
"""The options that make the rule: given with the first table that is asked about."""


class Start(NamedTuple):
    """A workbook of which nothing is asked yet, the number of rows of its first table, and what to note."""

    book: Workbook
    rows: int
    notes: list[str]


def started(
    command: str, data: Source, said: dict[str, Any], columns: Columns, *, labelled: bool = False, quiet: bool
) -> Start:
    """Return how the work starts.

    Parameters
    ----------
    command, data
        What the command is called, and the table.
    said, columns
        The options by name, None where one was not given, and what was said of columns.
    labelled
        Whether it is a table with labels, to be learned: what others may cost is said later.
    quiet
        Whether no progress is shown.
    """
    # What can be wrong with these is said before a long table is looked at.
    classes = as_classes(said["--classes"], command)
    check_model(said, command, classes)
    target = said["--target"] or "label"
    periods = None if labelled else first_periods(said, target)
    rule = None if labelled else rule_of(command, said) if periods is None else periods.rule
    # Estimators of the same name are for numbers or for classes, which only the table may say.
    model = model_of(said | {"--also": None}, 1, command, classes)
    columns.check(command)
    check_target(said["--id"], target, command)
    rows = columns.rows(data, quiet=quiet)
    names = [*rows.columns, *rows.file.numbers]
    target = said["--target"] or (rows.file.target if labelled else None) or "label"
    notes = []
    if labelled:
        rows.file.check(target)
    else:
        aside = {said["--id"], *(columns.skip or ()), *rows.file.aside()}
        inputs = [name for name in names if name == target or name not in aside]
        notes = check_new(command, said["--target"], inputs, data.name, new=bool(said["--new"]))
    there = target if target in names else None
    if periods is not None:
        rows.watch(periods.add)
    survey = surveyed(rows, there, classes, numbers=said["--label-range"] is not None)
    encoding = columns.encoding(rows, scale=not model.scales_inputs, target=there, id=said["--id"])
    model = model_of(said, encoding.dim, command, classes or survey.classes())
    learner = Learner(model, rule(rows.count) if rule else NONE_YET, seed=said["--seed"] or 0)
    book = Workbook(learner, encoding, said["--id"], target, has_rule=rule is not None)
    notes += [*on_labels(survey, classes), *(periods.settle(book) if periods else [])]
    return Start(book, rows.count, [*notes, *on_first_table(encoding)])


def check_first(said: dict[str, Any], command: str) -> None:
    """Refuse what only the first table takes."""
    for name, value in said.items():
        if value is not None:
            remedy = "It is fixed by the first table."
            raise invalid(name, command, "left out once the state file is there", repr(value), remedy)


def rule_of(command: str, said: dict[str, Any]) -> Callable[[int], Rule]:
    """Return the rule as a function of how many rows the first table has: what a count is for by default.

    More tables may come, so a share is of `--horizon` rows, and without that a rate.

    >>> names = ["--model", "--budget", "--alpha", "--fixed-budget", "--at-random", "--horizon", "--burst"]
    >>> options = dict.fromkeys(names)
    >>> rule_of("qufur ask", options | {"--budget": "50"})(1000)
    Steady(budget=50, horizon=1000, burst=10.0)
    >>> rule_of("qufur ask", options | {"--budget": "5%", "--at-random": True})(1000)
    Uniform(rate=0.05, budget=None)
    """
    check_for_ridge(said["--model"], command, {name: said[name] for name in ("--alpha", "--fixed-budget")})
    left_out = partial(check_left_out, command, said)
    horizon, alpha, budget = said["--horizon"], said["--alpha"], _amount(command, said, "--budget")
    fixed = _amount(command, said, "--fixed-budget")
    if said["--at-random"]:
        left_out("--at-random", "--alpha", "--fixed-budget", "--burst")
    if horizon is not None or not isinstance(budget, float):
        left_out("a count of labels, which --horizon makes of a share", "--burst")
    if fixed is not None:
        left_out("--fixed-budget", "--budget", "--alpha")
        return lambda rows: FixedBudget(labels_of(fixed, horizon or rows), horizon or rows)
    if alpha is not None and not isinstance(budget, float):
        left_out("--alpha", "--horizon")
    if budget is None and alpha is None:
        remedy = "--per can take its place, and with --model ridge --alpha or --fixed-budget."
        raise invalid("--budget", command, "given for the first table", "none", remedy)

    def spend(rows: int | None) -> Rule:
        rule = rule_from_budget(
            budget,
            alpha,
            rows=rows,
            owner=command,
            parameter="--budget",
            remedy="--horizon says how many.",
            steady=is_experts(said),
            burst=said["--burst"],
        )
        return Uniform(rule.share or 1.0, budget=rule.limit) if said["--at-random"] else rule

    if alpha is None and isinstance(budget, int):
        return lambda rows: spend(horizon or rows)
    rule = spend(horizon)
    return lambda rows: rule


def _amount(command: str, said: dict[str, Any], name: str) -> int | float | None:
    return None if said[name] is None else as_amount(said[name], command, name)


def check_left_out(command: str, said: dict[str, Any], beside: str, *others: str) -> None:
    """Refuse options that do not go with another."""
    for name in others:
        if said[name] is not None:
            raise invalid(name, command, f"left out with {beside}", said[name])
