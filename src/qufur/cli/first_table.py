"""How the work of `qufur ask` starts: the first table, and what is said with it, decide what stays."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from qufur.cli.budgets import rule_of
from qufur.cli.columns import Columns
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.tables.written import heading
from qufur.workbook import Workbook


def started(data: Path, said: dict[str, Any], columns: Columns, *, quiet: bool) -> tuple[Workbook, int]:
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
    cost = (said[name] for name in ("--budget", "--alpha", "--fixed-budget", "--horizon"))
    rule = rule_of(*cost, at_random=bool(said["--at-random"]))
    if said["--label-range"] is None:
        remedy = "Say which is the lowest and which the highest label, such as --label-range 0 100."
        raise invalid("--label-range", "qufur ask", "given for the first table", "none", remedy)
    model = Ridge(1, intercept=True, label_range=said["--label-range"])
    columns.check("qufur ask")
    target = said["--target"] or "label"
    check_target(said["--id"], target)
    rows = columns.rows(data, quiet=quiet)
    there = target if target in rows.columns else None
    encoding = columns.encoding(rows, target=there, id=said["--id"])
    model = dataclasses.replace(model, dim=encoding.dim)
    learner = Learner(model, rule(rows.count), seed=said["--seed"] or 0)
    return Workbook(learner, encoding, said["--id"], target), rows.count


def check_target(id: str | None, target: str) -> None:
    """Refuse one column for two things: a file with both could not be told."""
    if id is not None and heading(id) == heading(target):
        raise invalid("--target", "qufur ask", "another column than --id", repr(target))
