"""One run of `qufur label`: start or resume, call the program, show progress, and save."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qufur._internal.counts import counted
from qufur.cli._flags import flag
from qufur.cli._periods import limit_notes
from qufur.cli._start import StartOptions, check_start_options, extend_workbook, start_workbook
from qufur.cli._state_file import digest_of, load_workbook, read_rows, save_state
from qufur.cli.ask import choose_rows, columns_to_show
from qufur.errors import invalid
from qufur.ids import Id
from qufur.labelling.calls import CallError, CallLimits, Calls
from qufur.labelling.command import Command
from qufur.labelling.feed import RowFeed, item_of
from qufur.labelling.journal import Journal, Money, Request, journal_of
from qufur.labelling.label_queue import LabelQueue, OutOfOrderError
from qufur.labelling.votes import agreement
from qufur.storage.lock import locked
from qufur.tables import Batch
from qufur.tables.batch import shown
from qufur.tables.labels import listing
from qufur.tables.source import Source, files_at
from qufur.workbook import Workbook
from qufur.workbook.classes import takes_classes
from qufur.workbook.corrections import retract

EVERY = 0.5
"""Seconds between updates of the bar: estimating the error takes time."""
SKIP = "skip"
"""Output of a program that cannot label a row."""


@dataclass(frozen=True)
class LabelOptions:
    """Options of `qufur label`."""

    data: Source
    state: Path
    command: str
    options: StartOptions
    money: Money
    votes: int
    terms: CallLimits
    timeout: float


class LabelResult(NamedTuple):
    """Result of a `qufur label` run."""

    workbook: Workbook
    queue: LabelQueue
    journal: Journal
    rows: int
    notes: list[str]


def label_rows(work: LabelOptions, *, quiet: bool) -> LabelResult:
    """Label the chosen rows of a table and the pending rows."""
    with locked(work.state), closing(Journal(journal_of(work.state), work.money)) as journal:
        return _label(open_run(work, journal, quiet=quiet), quiet=quiet)


@dataclass
class LabelRun:
    """State of one `qufur label` run.

    Attributes
    ----------
    data, table, notes
        The table with the dialect of earlier tables, its digest, and notes to print.
    saved
        Whether this run has written the state file.
    """

    work: LabelOptions
    journal: Journal
    workbook: Workbook
    data: Source
    table: str
    notes: list[str]
    saved: bool = False

    def save(self, outcome: str = "interrupted while buying labels") -> None:
        """Write the state file. One call of the command is one version: `undo` reverts all of it."""
        if self.saved:
            now = int(time.time())
            self.workbook.history = replace(self.workbook.history, outcome=outcome, at=now)
            self.workbook.save(self.work.state)
        else:
            save_state(self.workbook, self.work.state, f"label {self.work.data.name}", outcome)
        self.saved = True

    def settle(self, id: Id, label: float | None) -> None:
        """Learn the label of a row, or retract the row if the label is None."""
        if label is None:
            retract(self.workbook, [id])
        else:
            self.workbook.tell([id], np.array([label]), self.work.command, accept_outliers=True)

    def recorded_votes(self, id: Id, item: dict[str, Any]) -> dict[int, float | None]:
        """Return the recorded votes on a row, by number; None for a skipped row."""
        keys = {vote: self.journal.request(id, item, vote).key for vote in range(1, self.work.votes + 1)}
        answers = self.journal.answers
        return {vote: label_of(self.workbook, answers[key]) for vote, key in keys.items() if key in answers}

    def read(self, request: Request, text: str) -> float | None:
        """Return the label that a program printed; raise `CallError` for an outlier."""
        value = label_of(self.workbook, text)
        try:
            self.workbook.refuse_outliers({} if value is None else {request.id: value}, self.work.command)
        except ValueError:
            raise CallError(
                f"it printed {shown(text)}, far outside the range; `qufur tell --accept-outliers` accepts it"
            ) from None
        return value


def label_of(workbook: Workbook, text: str) -> float | None:
    """Parse the output of a program: return a number, the index of a class, or None for a skipped row."""
    if text.lower() == SKIP:
        return None
    try:
        _, values = workbook.read_labels(Batch({"label": [text]}), "label")
        return float(values.item())
    except ValueError:
        if workbook.classes is not None:
            problem = f"none of {listing(workbook.classes)}"
        elif takes_classes(workbook.learner):
            problem = "not a number; --classes sets class names"
        else:
            problem = "not a number"
        raise CallError(f"it printed {shown(text)}, which is {problem}") from None


def describe_calls(journal: Journal) -> str:
    """Describe the number of calls, their cost, and on how many rows the first two votes agree."""
    cost = f", {journal.spent} spent" if journal.spent else ""
    limit = "" if journal.money.limit is None else f" of {journal.money.limit}"
    agreed, judged = agreement(journal.opinions.values())
    votes = f", votes agreed on {agreed} of {counted(judged, 'row')}" if judged else ""
    return f"{counted(journal.calls, 'call')}{cost}{limit}{votes}"


def call_counts(journal: Journal) -> dict[str, int | float]:
    """Return the calls, their cost, the rows with two votes, and the rows whose first two votes agree."""
    agreed, judged = agreement(journal.opinions.values())
    money = float(journal.spent)
    return {"calls": journal.calls, "money": money, "judged_twice": judged, "agreed": agreed}


def progress_line(workbook: Workbook, journal: Journal, rows: int) -> str:
    """Return the counts of rows, labels and calls, the money spent and the estimated loss in one line."""
    learner = workbook.learner
    estimate = learner.ledger.estimate()
    error = "" if estimate is None or not learner.ledger.answered else f", loss {estimate.value:.3g}"
    money = f", {journal.spent} spent" if journal.spent else ""
    left = "" if learner.left is None else f", {learner.left} left"
    return f"{rows:,} rows, {len(workbook.labels):,} labels{left}, {journal.calls:,} calls{money}{error}"


@contextmanager
def progress_bar(workbook: Workbook, journal: Journal, *, quiet: bool) -> Iterator[Callable[[RowFeed], None]]:
    """Show labels received out of the budget, with one line of counts; yield a function that updates it."""
    if quiet or not sys.stderr.isatty():
        yield lambda feed: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    next_update = 0.0

    def update(feed: RowFeed) -> None:
        nonlocal next_update
        if time.monotonic() < next_update:
            return
        learner = workbook.learner
        done = learner.spent - len(learner.outstanding)
        bar.update(task, completed=done, description=progress_line(workbook, journal, feed.rows))
        next_update = time.monotonic() + EVERY

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=workbook.learner.rule.limit)
        yield update


def open_run(work: LabelOptions, journal: Journal, *, quiet: bool) -> LabelRun:
    """Load or create the workbook, and register a new table."""
    files = files_at(work.data)
    digests = [digest_of(file) for file in files]
    exists, data, notes = work.state.exists(), work.data, list[str]()
    if exists:
        workbook = _continued(work, journal)
        data = replace(data, default=workbook.dialect)
    else:
        workbook, notes = _started(work, journal, quiet=quiet)
    if not (exists and workbook.has_rule):
        journal.remember({flag(name): value for name, value in work.options.given().items()})
    table = "+".join(digests)
    if not set(digests) <= set(workbook.tables):
        if exists:
            options = _start_options(work, journal)
            _, _, notes = extend_workbook("qufur label", workbook, data, options, quiet=quiet)
        for digest, file in zip(digests, files, strict=True):
            workbook.register_table(digest, file.name)
        workbook.partial_tables[table] = 0
    affordable, limit = _affordable(work, journal), workbook.learner.rule.limit
    if money_sets_budget(journal) and affordable is not None and limit is not None and affordable > limit:
        workbook.learner.add_budget(affordable - limit)
    return LabelRun(work, journal, workbook, data, table, notes)


def _started(work: LabelOptions, journal: Journal, *, quiet: bool) -> tuple[Workbook, list[str]]:
    if journal.calls:
        remedy = "Restore the state file, or remove the record of calls to start over."
        received = f"none, although calls are recorded in {str(journal.path)!r}"
        raise invalid("--state", "qufur label", "an existing file", received, remedy)
    options = _start_options(work, journal)
    workbook, _, notes = start_workbook("qufur label", work.data, options, quiet=quiet)
    workbook.start_options = work.options.given()
    _check_classes(workbook)
    return workbook, notes


def _continued(work: LabelOptions, journal: Journal) -> Workbook:
    """Load the workbook; options given again must equal those of the first call."""
    workbook = load_workbook(work.state)
    _check_classes(workbook)
    recorded = {name[2:].replace("-", "_"): value for name, value in (journal.start or {}).items()}
    check_start_options(workbook, work.options.given(), recorded)
    return workbook


def _check_classes(workbook: Workbook) -> None:
    """Reject a class named "skip": a program prints this word to skip a row."""
    for name in workbook.classes or ():
        if str(name).lower() == SKIP:
            received = f"{name!r}, which a program prints to skip a row"
            raise invalid("--classes", "qufur label", "other names", received, "Rename the class.")


def _start_options(work: LabelOptions, journal: Journal) -> StartOptions:
    """Return the start options; without --budget, --money sets the budget."""
    affordable = _affordable(work, journal)
    budget = work.options.rule.budget or (None if affordable is None else str(affordable))
    return replace(work.options, rule=replace(work.options.rule, budget=budget))


def money_sets_budget(journal: Journal) -> bool:
    """Return whether --money sets the budget, because --budget was omitted."""
    return journal.start is not None and "--budget" not in journal.start


def _affordable(work: LabelOptions, journal: Journal) -> int | None:
    """Return the number of labels from all past and future calls, if the votes on each row agree."""
    cost, limit = work.money
    if limit is None:
        return None
    future = max(0, int((limit - journal.spent) // cost))
    return (journal.calls + future) // min(work.votes, 2)


def _label(run: LabelRun, *, quiet: bool) -> LabelResult:
    work, workbook, journal = run.work, run.workbook, run.journal
    rows = read_rows(workbook, run.data, None)
    header, columns = columns_to_show(workbook, rows)

    def ask(batch: Batch) -> list[Id]:
        return [row[0] for row in choose_rows(workbook, batch, header, columns)]

    feed = RowFeed(workbook, run.table, rows, ask, run.save, until_spent=money_sets_budget(journal))

    def next_items() -> list[tuple[Id, dict[str, Any]]] | None:
        ids = feed(work.terms.jobs)
        return None if ids is None else [(id, item_of(workbook, id)) for id in ids]

    with (
        closing(Command(work.command, work.terms.jobs, work.timeout)) as program,
        progress_bar(workbook, journal, quiet=quiet) as update,
    ):
        calls = Calls(program, run.read, journal, work.terms)
        mean = workbook.classes is None
        queue = LabelQueue(calls, journal.request, run.recorded_votes, run.settle, work.votes, mean)
        try:
            queue.work(next_items, partial(update, feed))
        except OutOfOrderError as error:
            received = f"no label from the last {queue.failures} rows; last error: {error.__cause__}"
            remedy = "Earlier labels are saved; run the same command to continue."
            raise invalid("--with", "qufur label", "a command that labels rows", received, remedy) from None
        finally:
            if run.saved or queue.labels or queue.skipped:
                run.save(f"{counted(queue.labels, 'label')} bought, {queue.skipped} skipped")
    notes = [*limit_notes(workbook), *rows.notes, *run.notes, *_final_notes(run, queue, feed)]
    return LabelResult(workbook, queue, journal, feed.rows, notes)


def _final_notes(run: LabelRun, queue: LabelQueue, feed: RowFeed) -> Iterator[str]:
    is_spent = queue.calls.out_of_money or feed.is_spent
    if is_spent and (run.workbook.partial_tables or run.workbook.learner.outstanding):
        limit = "" if run.journal.money.limit is None else f" of {run.journal.money.limit}"
        unaffordable = "call" if queue.calls.out_of_money else "label"
        spent = f"{run.journal.spent}{limit} is spent, too little is left for a {unaffordable}"
        yield f"{spent}. Run the same command with more --money to continue."
    if queue.failed:
        id, error = next(iter(queue.failed.items()))
        rows = counted(len(queue.failed), "row")
        yield f"No label for {rows}, such as {id!r}: {error}. Run the same command to try again."
