"""How the work of `qufur ask` starts: the first table, and what is said with it, decide what stays."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from qufur.cli.budgets import rule_of
from qufur.cli.rows import Rows
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.tables import Encoding
from qufur.tables.embeddings import BERT
from qufur.tables.written import heading
from qufur.workbook import Workbook


def started(data: Path, said: dict[str, Any], *, quiet: bool) -> tuple[Workbook, int]:
    """Return a workbook of which nothing is asked yet, and the number of rows of its first table.

    Parameters
    ----------
    data
        The table.
    said
        The options by name, None where one was not given.
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
    if said["--text-model"] is not None and said["--text"] is None:
        raise invalid("--text-model", "qufur ask", "left out without --text", repr(said["--text-model"]))
    target, text = said["--target"] or "label", said["--text"]
    check_target(said["--id"], target)
    rows = Rows(data, None if quiet else "Looking at columns", text=text is not None)
    encoding = Encoding.of(
        rows,
        skip=said["--skip"] or (),
        id=said["--id"],
        target=target if target in rows.columns else None,
        categorical=said["--categorical"] or (),
        embedding=said["--embedding"],
        text=text,
        text_model=said["--text-model"] or BERT,
        impute=bool(said["--impute"]),
    )
    model = dataclasses.replace(model, dim=encoding.dim)
    learner = Learner(model, rule(rows.count), seed=said["--seed"] or 0)
    return Workbook(learner, encoding, said["--id"], target), rows.count


def check_target(id: str | None, target: str) -> None:
    """Refuse one column for two things: a file with both could not be told."""
    if id is not None and heading(id) == heading(target):
        raise invalid("--target", "qufur ask", "another column than --id", repr(target))
