"""`qufur label`: labels that a program gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from qufur.cli import show
from qufur.cli.columns import Columns
from qufur.cli.label_options import (
    Cost,
    Jobs,
    MoneyLimit,
    Rate,
    Retries,
    Timeout,
    Votes,
    With,
    money_of,
    rate_of,
)
from qufur.cli.label_start import Work
from qufur.cli.label_work import Done, calls_in_words, counts_of, label_rows
from qufur.cli.loop import State
from qufur.cli.options import (
    BUDGET,
    TABLE,
    CategoricalColumns,
    Decimal,
    EmbeddingColumn,
    FirstClasses,
    FirstHorizon,
    FirstId,
    FirstLabelRange,
    FirstModel,
    FirstNew,
    FirstSeed,
    FirstTarget,
    Impute,
    Json,
    Separator,
    Skip,
    TextColumn,
)
from qufur.counts import counted
from qufur.labelling.calls import Terms
from qufur.labelling.command import program_of
from qufur.tables.source import Source


def label(
    data: Annotated[Path, typer.Argument(help=f"{TABLE} of rows to predict.")],
    state: State,
    command: With,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS", help=f"First: labels to buy: {BUDGET}; by default what --money pays for."
        ),
    ] = None,
    cost: Cost = "0",
    money: MoneyLimit = None,
    votes: Votes = 1,
    jobs: Jobs = 1,
    timeout: Timeout = 60.0,
    retries: Retries = 2,
    rate_limit: Rate = None,
    model: FirstModel = None,
    horizon: FirstHorizon = None,
    label_range: FirstLabelRange = None,
    target: FirstTarget = None,
    new: FirstNew = False,
    classes: FirstClasses = None,
    id: FirstId = None,
    skip: Skip = None,
    categorical: CategoricalColumns = None,
    embedding: EmbeddingColumn = None,
    text: TextColumn = None,
    impute: Impute = False,
    sep: Separator = None,
    decimal: Decimal = None,
    seed: FirstSeed = None,
    json: Json = False,
) -> None:
    """Predict on the rows of a table and let a program label those that are worth it.

    For each of them the program gets a JSON object on standard input, with the columns of the row and an
    idempotency_key, and prints a label, or skip. The labels are learned as they come. Killed at any moment,
    the same command goes on where it was; calls are on record in a file beside the state file.
    """
    said = {
        "--budget": budget,
        "--model": model,
        "--horizon": horizon,
        "--label-range": label_range,
        "--target": target,
        "--new": new or None,
        "--classes": classes,
        "--id": id,
        "--seed": seed,
    }
    program_of(command)
    work = Work(
        Source(data, sep, decimal),
        state,
        command,
        Columns(skip, categorical, embedding, text, None, impute, None),
        said,
        money_of(cost, money),
        votes,
        Terms(jobs, retries, rate_of(rate_limit)),
        timeout,
    )
    try:
        _print(label_rows(work, quiet=json), json)
    except KeyboardInterrupt:
        print("qufur: stopped; the same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None


def _print(done: Done, json: bool) -> None:
    learner, desk, journal = done.book.learner, done.desk, done.journal
    left, waiting = learner.left, len(learner.outstanding)
    if json:
        counts = {
            "rows": done.rows,
            "labels": desk.labels,
            "skipped": desk.skipped,
            "failed": len(desk.failed),
        }
        standing = {"left": left, "outstanding": waiting, "notes": done.notes}
        show.print_json(counts | counts_of(journal) | standing)
        return
    print(
        f"{counted(done.rows, 'row')}, {counted(desk.labels, 'label')} bought, "
        f"{desk.skipped} skipped, {len(desk.failed)} failed."
    )
    budget = "no budget" if left is None else f"{left} left"
    labels = counted(learner.spent, "label")
    print(f"{labels} in all, {budget}, {waiting} outstanding; {calls_in_words(journal)}.")
    for note in done.notes:
        print(note)
