"""`qufur status`: how the work is going."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from qufur.cli import show
from qufur.cli.label_work import calls_in_words, counts_of
from qufur.cli.loop import State, opened
from qufur.cli.options import Json
from qufur.cli.target import on_telling_columns
from qufur.labelling.journal import Journal, journal_of


def status(state: State, json: Json = False) -> None:
    """Show budget, outstanding labels, the estimated error and where new domains seem to begin."""
    book = opened(state)
    report = book.learner.report()
    notes = on_telling_columns(book)
    journal = Journal(journal_of(state))
    if json:
        own: dict[str, Any] = {"outstanding_ids": list(book.learner.outstanding)} | (
            {"notes": notes} if notes else {}
        )
        own |= {"labelling": counts_of(journal)} if journal.calls else {}
        show.print_json(asdict(report) | own)
        return
    print(f"{state}: {book.rows} rows, {book.encoding.dim} inputs, labels in column {book.target!r}\n")
    print(report)
    waiting = book.learner.outstanding
    if waiting:
        few = ", ".join(map(str, waiting[:10])) + (", …" if len(waiting) > 10 else "")
        print(f"{'outstanding':14}{few}")
    if journal.calls:
        print(f"{'labelling':14}{calls_in_words(journal)}")
    for note in notes:
        print(note)
