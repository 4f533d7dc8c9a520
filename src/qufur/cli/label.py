"""`qufur label`: labels from a program."""

from __future__ import annotations

import decimal
import math
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._columns import GrowingColumns
from qufur.cli._label_run import LabelOptions, LabelResult, call_counts, describe_calls, label_rows
from qufur.cli._periods import describe_spend
from qufur.cli._start import StartOptions
from qufur.errors import invalid
from qufur.labelling.calls import CallLimits
from qufur.labelling.command import program_of
from qufur.labelling.journal import Money
from qufur.tables.source import Source

SECONDS = {"s": 1, "min": 60, "h": 3600}
MAX_MONEY, MAX_CALLS = 10**12, 10**12
"""Largest amount of money, and of calls that --money may pay for."""


def label(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Rows to predict: {opt.TABLE}.")],
    state: opt.State,
    command: Annotated[
        str,
        opt.program_option("--with", metavar="COMMAND", help="Program that labels a row, with arguments."),
    ],
    budget: opt.FirstBudget = None,
    cost: Annotated[
        str, opt.budget_option(metavar="MONEY", help="Cost of one call; a failed call costs the same.")
    ] = "0",
    money: Annotated[
        str | None, opt.budget_option(metavar="MONEY", help="Maximum cost of all calls. Default: no limit.")
    ] = None,
    votes: Annotated[
        int,
        opt.program_option(
            min=1,
            metavar="N",
            help="Maximum labels per row: more than two only if they differ. Their mean or majority is "
            "learned.",
        ),
    ] = 1,
    jobs: Annotated[int, opt.program_option(min=1, metavar="N", help="Number of concurrent calls.")] = 1,
    timeout: Annotated[
        float, opt.program_option(min=0.01, metavar="SECONDS", help="Seconds before a call is abandoned.")
    ] = 60.0,
    retries: Annotated[
        int, opt.program_option(min=0, metavar="N", help="Number of retries of a failed call.")
    ] = 2,
    rate_limit: Annotated[
        str | None,
        opt.program_option(
            "--rate-limit", metavar="N/s", help="Maximum call rate, such as 10/s, 60/min or 1000/h."
        ),
    ] = None,
    model: opt.FirstModel = None,
    horizon: Annotated[
        int | None, opt.budget_option(min=1, metavar="ROWS", help=f"{opt.HORIZON} {opt.ONCE}")
    ] = None,
    label_range: opt.FirstLabelRange = None,
    target: opt.FirstTarget = None,
    new: opt.FirstNew = False,
    classes: opt.FirstClasses = None,
    id: opt.FirstId = None,
    skip: opt.Skip = None,
    categorical: opt.CategoricalColumns = None,
    embedding: opt.EmbeddingColumn = None,
    text: opt.TextColumn = None,
    impute: opt.Impute = False,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    seed: opt.FirstSeed = None,
    json: opt.Json = False,
) -> None:
    """Label rows of a table with a program.

    Rows are predicted and chosen as in `qufur ask`. For each chosen row the program reads a JSON object from
    stdin, with the columns of the row and an idempotency_key, and prints a label, or skip. Labels are learned
    as they arrive. After an interruption the same command resumes; a call log beside the state file prevents
    paying twice. Without --budget, --money sets the number of labels.

    Example:
      qufur label rows.csv --with ./ask_model.py --budget 300 --state s.qufur
    """
    options = StartOptions(
        model=opt.ModelOptions(model, label_range=label_range),
        rule=opt.RuleOptions(budget, horizon=horizon),
        target=target,
        new=new,
        classes=classes,
        id=id,
        columns=GrowingColumns(skip, categorical, embedding, text, impute=impute),
        seed=seed,
    )
    program_of(command)
    source, price = Source(data, sep, decimal), parse_money(cost, money)
    terms = CallLimits(jobs, retries, parse_rate(rate_limit))
    work = LabelOptions(source, state, command, options, price, votes, terms, timeout)
    try:
        _print(label_rows(work, quiet=json), json)
    except KeyboardInterrupt:
        print("qufur: interrupted; run the same command to resume.", file=sys.stderr)
        raise typer.Exit(130) from None


def _print(result: LabelResult, json: bool) -> None:
    learner, queue, journal = result.workbook.learner, result.queue, result.journal
    counts = {"rows": result.rows, "labels": queue.labels, "skipped": queue.skipped}
    calls = {"failed": len(queue.failed)} | call_counts(journal)
    status = {"left": learner.left, "outstanding": len(learner.outstanding), "notes": result.notes}
    lines = [
        f"{counted(result.rows, 'row')}, {counted(queue.labels, 'label')} bought, "
        f"{queue.skipped} skipped, {len(queue.failed)} failed.",
        f"{describe_spend(learner)}; {describe_calls(journal)}.",
        *result.notes,
    ]
    _show.print_result(json, counts | calls | status, lines)


def parse_money(cost: str, limit: str | None) -> Money:
    """Parse --cost and --money as exact decimals.

    >>> parse_money("0.02", "20")
    Money(cost=Decimal('0.02'), limit=Decimal('20'))
    """
    per_call = _amount("--cost", cost)
    if limit is None:
        return Money(per_call)
    if not per_call:
        raise invalid("--cost", "qufur label", "given with --money", "none")
    total = _amount("--money", limit)
    if total < per_call:
        raise invalid("--money", "qufur label", f"at least --cost, {per_call}", total)
    if total > per_call * MAX_CALLS:
        raise invalid("--money", "qufur label", f"at most {MAX_CALLS:,} times --cost, {per_call}", total)
    return Money(per_call, total)


def _amount(name: str, text: str) -> decimal.Decimal:
    try:
        amount = decimal.Decimal(text)
    except decimal.InvalidOperation:
        amount = decimal.Decimal(-1)
    if not (amount.is_finite() and amount >= 0):
        raise invalid(name, "qufur label", "an amount of money such as 0.02", repr(text))
    if amount > MAX_MONEY:
        raise invalid(name, "qufur label", f"at most {MAX_MONEY:,}", text)
    return amount


def parse_rate(text: str | None) -> float:
    """Parse --rate-limit to calls per second.

    >>> parse_rate("60/min"), parse_rate("10/s"), parse_rate(None)
    (1.0, 10.0, inf)
    """
    if text is None:
        return math.inf
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)/(s|min|h)", text.replace(" ", ""))
    if match is None or not float(match[1]):
        raise invalid("--rate-limit", "qufur label", "such as 10/s, 60/min or 1000/h", repr(text))
    return float(match[1]) / SECONDS[match[2]]
