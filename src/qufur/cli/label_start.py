"""How the work of `qufur label` starts, or goes on: the same command does both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from qufur.bookkeeping.first_rule import choose_rule
from qufur.cli.columns import Columns
from qufur.cli.first_table import SPENDING, rule_of, started
from qufur.cli.growth import grow
from qufur.cli.loop import digest_of, tables_at
from qufur.cli.model import name_of
from qufur.cli.periods import LaterPeriods
from qufur.errors import invalid
from qufur.labelling.calls import Terms
from qufur.labelling.journal import Journal, Money
from qufur.tables.source import Source
from qufur.workbook import Workbook

UNUSED = ("--regularization", "--half-life", "--also", *SPENDING)
"""Options of a first table that `qufur ask` has besides."""
SKIP = "skip"
"""The output of a program that cannot label a row."""


@dataclass(frozen=True)
class Work:
    """What was said on the command line."""

    data: Source
    state: Path
    command: str
    columns: Columns
    said: dict[str, Any]
    money: Money
    votes: int
    terms: Terms
    timeout: float


class Begin(NamedTuple):
    """The work so far, the digest of the table, and what to note."""

    book: Workbook
    table: str
    notes: list[str]


def begun(work: Work, journal: Journal, *, quiet: bool) -> Begin:
    """Return how the work starts, or stands; a table that is new to it is taken note of."""
    files = list(tables_at(work.data.path).values())
    digests = [digest_of(file) for file in files]
    book, notes = _continued(work, journal) if work.state.exists() else _started(work, journal, quiet=quiet)
    table = "+".join(digests)
    if not set(digests) <= set(book.tables):
        if work.state.exists():
            notes = _grown(work, book, journal, quiet=quiet)
        for digest, file in zip(digests, files, strict=True):
            book.note_table(digest, file.name)
        book.unfinished[table] = 0
    _raise_budget(work, book, journal)
    return Begin(book, table, notes)


def _started(work: Work, journal: Journal, *, quiet: bool) -> tuple[Workbook, list[str]]:
    if journal.calls:
        remedy = "Put it back, or remove the other to start anew."
        received = f"none, though calls are on record in {str(journal.path)!r}"
        raise invalid("--state", "qufur label", "an existing file", received, remedy)
    book, _, notes = started("qufur label", work.data, _first(work, journal), work.columns, quiet=quiet)
    _check_classes(book)
    journal.remember(_said(work))
    return book, notes


def _first(work: Work, journal: Journal) -> dict[str, Any]:
    """Return the options of a first table, None where one was not given."""
    affordable = _affordable(work, journal)
    budget = work.said["--budget"] or (None if affordable is None else str(affordable))
    return dict.fromkeys(UNUSED) | work.said | {"--budget": budget}


def _grown(work: Work, book: Workbook, journal: Journal, *, quiet: bool) -> list[str]:
    """Let the work take a further table; return what to note of it."""
    periods = LaterPeriods(book)
    source = replace(work.data, usual=book.dialect)
    rows, notes = grow(book, source, work.columns, quiet=quiet, look=periods.add)
    if not book.has_rule:
        said = _first(work, journal) | {"--model": name_of(book.learner.model)}
        choose_rule(book, rule_of("qufur label", said)(rows))
    return notes + periods.settle(book)


def _continued(work: Work, journal: Journal) -> tuple[Workbook, list[str]]:
    """Return the work so far; what is said again must be what was said first."""
    book = Workbook.load(work.state)
    _check_classes(book)
    first = journal.start or {"--id": book.id, "--target": book.target}
    for name, value in _said(work).items():
        open_yet = name in SPENDING and not book.has_rule
        if first.get(name) != value and not open_yet:
            allowed = f"{first[name]!r} as at first" if name in first else "left out for work that has begun"
            remedy = "`qufur budget --add` gives more." if name == "--budget" else ""
            raise invalid(name, "qufur label", allowed, repr(value), remedy)
    if not book.has_rule:
        journal.remember(_said(work))
    return book, []


def _check_classes(book: Workbook) -> None:
    """Refuse a class that a program cannot name, as it gives the row up with the same word."""
    for name in book.classes or ():
        if str(name).lower() == SKIP:
            received = f"{name!r}, by which a program gives a row up"
            raise invalid("--classes", "qufur label", "other names", received, "Give the class another name.")


def _said(work: Work) -> dict[str, Any]:
    """Return the options that were given and are for a first table, as JSON has them."""
    said = {name: value for name, value in (work.said | work.columns.fixed).items() if value is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}


def money_sets_budget(journal: Journal) -> bool:
    """Return whether the budget is the number of labels that --money pays for, as no --budget was given."""
    return journal.start is not None and "--budget" not in journal.start


def _raise_budget(work: Work, book: Workbook, journal: Journal) -> None:
    """Add to the budget the labels that a higher --money pays for."""
    affordable, limit = _affordable(work, journal), book.learner.rule.limit
    if money_sets_budget(journal) and affordable is not None and limit is not None and affordable > limit:
        book.learner.add_budget(affordable - limit)


def _affordable(work: Work, journal: Journal) -> int | None:
    """Return how many labels all calls pay for, past and future, if all judges agree."""
    cost, limit = work.money
    if limit is None:
        return None
    future = max(0, int((limit - journal.spent) // cost))
    return (journal.calls + future) // min(work.votes, 2)
