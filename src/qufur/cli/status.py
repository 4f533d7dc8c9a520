"""`qufur status`: how the work is going."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur.bookkeeping.shifts import shifts_of
from qufur.bookkeeping.summary import summary
from qufur.cli import show
from qufur.cli.label_work import calls_in_words, counts_of
from qufur.cli.loop import State, files_of, opened
from qufur.cli.options import Json
from qufur.cli.outputs import check_page
from qufur.cli.periods import promised, standing
from qufur.cli.target import on_telling_columns
from qufur.counts import counted
from qufur.labelling.journal import Journal, journal_of
from qufur.storage.atomic import replacing


def status(
    state: State,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with plots of how it went.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what is spent, the error so far, where the inputs shifted, and what to do next."""
    if html is not None:
        check_page(html, files_of(state))
    book = opened(state)
    report = book.learner.report()
    notes = on_telling_columns(book)
    journal = Journal(journal_of(state))
    shifts = shifts_of(book)
    details = report.text(leave_out=("new domains",))
    said = summary(book, report, shifts)
    if html is not None:
        from qufur.cli.status_page import status_page

        page = status_page(book, state.name, report, shifts, said, "\n".join([details, *notes]))
        with replacing(html) as file:
            file.write(page.encode())
    if json:
        own: dict[str, Any] = {"outstanding_ids": list(book.learner.outstanding)}
        own |= {"notes": notes} if notes else {}
        own |= {"labelling": counts_of(journal)} if journal.calls else {}
        found = {"input_shifts": [asdict(shift) for shift in shifts], "summary": said}
        found |= {"headline": report.headline._asdict()}
        show.print_json(asdict(report) | own | standing(book) | found)
        return
    rows, inputs = counted(book.rows, "row"), counted(book.encoding.dim, "input")
    print(f"{state}: {rows}, {inputs}, labels in column {book.target!r}\n")
    for heading, sentences in said.items():
        for name, sentence in zip([heading] + [""] * len(sentences), sentences, strict=False):
            print(textwrap.fill(sentence, 100, initial_indent=f"{name:14}", subsequent_indent=" " * 14))
    print(f"\n{details}")
    waiting = book.learner.outstanding
    if waiting:
        few = ", ".join(map(str, waiting[:10])) + (", …" if len(waiting) > 10 else "")
        print(f"{'outstanding':14}{few}")
    if journal.calls:
        print(f"{'labelling':14}{calls_in_words(journal)}")
    if book.periods is not None:
        print(promised(book))
    for note in notes:
        print(note)
    if html is not None:
        print(f"The page is {html}.")
