"""How the rows of a table get their labels from a program, and what is kept of it on the disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from qufur.bookkeeping.classes import takes_classes
from qufur.bookkeeping.corrections import retract
from qufur.cli.ask import shown_columns, wanted_rows
from qufur.cli.changes import commit
from qufur.cli.label_progress import Bar
from qufur.cli.label_start import SKIP, Work, begun, money_sets_budget
from qufur.cli.loop import Rows, keep_dialect
from qufur.cli.periods import promised
from qufur.counts import counted
from qufur.errors import invalid
from qufur.labelling.calls import CallError, Calls
from qufur.labelling.command import Command
from qufur.labelling.desk import Desk, OutOfOrderError
from qufur.labelling.feed import Feed, item_of
from qufur.labelling.journal import Journal, Request, journal_of
from qufur.labelling.votes import agreement
from qufur.models.base import Id
from qufur.storage.lock import locked
from qufur.tables import Batch
from qufur.tables.batch import shown
from qufur.tables.classes import listing
from qufur.workbook import Workbook


@dataclass
class Done:
    """What came of it."""

    book: Workbook
    desk: Desk
    journal: Journal
    rows: int
    notes: list[str]


def calls_in_words(journal: Journal) -> str:
    """Say how many calls there were, what they cost, and whether judges agree."""
    cost = f", {journal.spent} spent" if journal.spent else ""
    limit = "" if journal.money.limit is None else f" of {journal.money.limit}"
    agreed, judged = agreement(journal.opinions.values())
    alike = f", judges agreed on {agreed} of {counted(judged, 'row')}" if judged else ""
    return f"{counted(journal.calls, 'call')}{cost}{limit}{alike}"


def counts_of(journal: Journal) -> dict[str, int | float]:
    """Return how many calls there were, what they cost, and on how many rows judges agree, of how many."""
    agreed, judged = agreement(journal.opinions.values())
    money = float(journal.spent)
    return {"calls": journal.calls, "money": money, "judged_twice": judged, "agreed": agreed}


def label_rows(work: Work, *, quiet: bool) -> Done:
    """Label the rows of a table that are worth it, and those that were outstanding."""
    with locked(work.state), closing(Journal(journal_of(work.state), work.money)) as journal:
        begin = begun(work, journal, quiet=quiet)
        return _label(_Bench(work, begin.book, journal, begin.table, quiet), begin.notes)


@dataclass
class _Bench:
    """All that the work is done with."""

    work: Work
    book: Workbook
    journal: Journal
    table: str
    quiet: bool
    saved: bool = field(default=False)

    def save(self, outcome: str = "labels bought as far as it went") -> None:
        """Write the state file; `undo` takes back all that one call of the command did."""
        if self.saved:
            now = int(time.time())
            self.book.history = replace(self.book.history, outcome=outcome, at=now)
            self.book.save(self.work.state)
        else:
            commit(self.book, self.work.state, f"label {self.work.data.name}", outcome)
        self.saved = True

    def settle(self, id: Id, label: float | None) -> None:
        """Learn the label of a row, or give it up."""
        if label is None:
            retract(self.book, [id])
        else:
            self.book.tell([id], np.array([label]), self.work.command, accept_outliers=True)

    def known(self, id: Id, item: dict[str, Any]) -> dict[int, float | None]:
        """Return the opinions that are on record."""
        keys = {vote: self.journal.request(id, item, vote).key for vote in range(1, self.work.votes + 1)}
        said = {vote: self.journal.answers[key] for vote, key in keys.items() if key in self.journal.answers}
        return {vote: label_of(self.book, text) for vote, text in said.items()}

    def read(self, request: Request, text: str) -> float | None:
        """Return the label that a program printed."""
        value = label_of(self.book, text)
        try:
            self.book.refuse_outliers({} if value is None else {request.id: value}, self.work.command)
        except ValueError:
            raise CallError(
                f"it printed {shown(text)}, far out of range; `qufur tell --accept-outliers` takes it"
            ) from None
        return value


def label_of(book: Workbook, text: str) -> float | None:
    """Return the label that a text stands for, a class by its number; None for a row that is skipped."""
    if text.lower() == SKIP:
        return None
    try:
        _, values = book.read_labels(Batch({"label": [text]}), "label")
        return float(values.item())
    except ValueError:
        allowed = "no number" if book.classes is None else f"none of {listing(book.classes)}"
        remedy = "; --classes names classes" if book.classes is None and takes_classes(book.learner) else ""
        raise CallError(f"it printed {shown(text)}, which is {allowed}{remedy}") from None


def _label(bench: _Bench, notes: list[str]) -> Done:
    work, book, journal = bench.work, bench.book, bench.journal
    rows = Rows(replace(work.data, usual=book.dialect), None, text=book.encoding.text is not None)
    keep_dialect(book, work.data, rows.file)
    header, columns = shown_columns(book, rows)

    def ask(batch: Batch) -> list[Id]:
        wanted = wanted_rows(book, batch, columns)
        book.waiting.add(header, wanted)
        return [row[0] for row in wanted]

    feed = Feed(book, bench.table, rows, ask, bench.save, until_spent=money_sets_budget(journal))

    def fed() -> list[tuple[Id, dict[str, Any]]] | None:
        ids = feed(work.terms.jobs)
        return None if ids is None else [(id, item_of(book, id)) for id in ids]

    with _program(work) as program, Bar(book, journal, quiet=bench.quiet) as bar:
        calls = Calls(program, bench.read, journal, work.terms)
        desk = Desk(calls, journal.request, bench.known, bench.settle, work.votes, book.classes is None)
        try:
            desk.work(fed, partial(bar.update, feed))
        except OutOfOrderError as error:
            raise _out_of_order(desk, error) from None
        finally:
            if bench.saved or desk.labels or desk.skipped:
                bench.save(f"{counted(desk.labels, 'label')} bought, {desk.skipped} skipped")
    said = promised(book)
    notes = [*([said] if said else []), *rows.file.notes, *notes, *_on_end(desk, bench, feed)]
    return Done(book, desk, journal, feed.rows, notes)


@contextmanager
def _program(work: Work) -> Iterator[Command]:
    program = Command(work.command, work.terms.jobs, work.timeout)
    try:
        yield program
    finally:
        program.close()


def _on_end(desk: Desk, bench: _Bench, feed: Feed) -> Iterator[str]:
    journal, again = bench.journal, "The same command goes on."
    short = desk.calls.out_of_money or feed.is_spent
    if short and (bench.book.unfinished or bench.book.learner.outstanding):
        of = "" if journal.money.limit is None else f" of {journal.money.limit}"
        lacking = "call" if desk.calls.out_of_money else "label"
        spent = f"{journal.spent}{of} is spent, too little is left for a {lacking}"
        yield f"{spent}. The same command with more --money goes on."
    if desk.failed:
        id, error = next(iter(desk.failed.items()))
        yield f"No label for {counted(len(desk.failed), 'row')}, such as {id!r}: {error}. {again}"


def _out_of_order(desk: Desk, error: OutOfOrderError) -> ValueError:
    allowed = "a command that labels rows"
    received = f"none of the last {desk.failures} labelled, the last because: {error.__cause__}"
    remedy = "What came before is kept; the same command goes on."
    return invalid("--with", "qufur label", allowed, received, remedy)
