"""How the work of `qufur ask` starts: the first table, and what is said with it, decide what stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from qufur.cli.classes import as_classes, on_labels, surveyed
from qufur.cli.columns import Columns
from qufur.cli.model import check_for_ridge, check_model, is_experts, model_of
from qufur.cli.periods import first_periods
from qufur.cli.target import check_new, check_target
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.rules import FixedBudget, Rule, Uniform
from qufur.rules.from_budget import as_amount, labels_of, rule_from_budget
from qufur.tables.source import Source
from qufur.workbook import Workbook


class Start(NamedTuple):
    """A workbook of which nothing is asked yet, the number of rows of its first table, and what to note."""

    book: Workbook
    rows: int
    notes: list[str]


def started(data: Source, said: dict[str, Any], columns: Columns, *, quiet: bool) -> Start:
    """Return how the work starts.

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
    classes = as_classes(said["--classes"], "qufur ask")
    check_model(said, "qufur ask", classes)
    target = said["--target"] or "label"
    periods = first_periods(said, target)
    rule = rule_of(said) if periods is None else periods.rule
    # Estimators of the same name are for numbers or for classes, which only the table may say.
    model = model_of(said | {"--also": None}, 1, "qufur ask", classes)
    columns.check("qufur ask")
    check_target(said["--id"], target)
    rows = columns.rows(data, quiet=quiet)
    aside = {said["--id"], *(columns.skip or ()), *rows.file.aside()}
    names = [*rows.columns, *rows.file.numbers]
    inputs = [name for name in names if name == target or name not in aside]
    check_new(target, inputs, data.name, new=bool(said["--new"]))
    there = target if target in names else None
    if periods is not None:
        rows.watch(periods.add)
    survey = surveyed(rows, there, classes, numbers=said["--label-range"] is not None)
    encoding = columns.encoding(rows, scale=not model.scales_inputs, target=there, id=said["--id"])
    model = model_of(said, encoding.dim, "qufur ask", classes or survey.classes())
    learner = Learner(model, rule(rows.count), seed=said["--seed"] or 0)
    book, notes = Workbook(learner, encoding, said["--id"], target), on_labels(survey, classes)
    return Start(book, rows.count, [*notes, *(periods.start(book) if periods else [])])


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
        remedy = "--per can take its place, and with --model ridge --alpha or --fixed-budget."
        raise invalid("--budget", "qufur ask", "given for the first table", "none", remedy)

    def spend(rows: int | None) -> Rule:
        rule = rule_from_budget(
            budget,
            alpha,
            rows=rows,
            owner="qufur ask",
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


def _amount(said: dict[str, Any], name: str) -> int | float | None:
    return None if said[name] is None else as_amount(said[name], "qufur ask", name)


def _check_left_out(beside: str, said: dict[str, Any], *others: str) -> None:
    for name in others:
        if said[name] is not None:
            raise invalid(name, "qufur ask", f"left out with {beside}", said[name])
