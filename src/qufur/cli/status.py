"""`qufur status`: how the work is going."""

from __future__ import annotations

from dataclasses import asdict

from qufur.cli import show
from qufur.cli.loop import State, opened
from qufur.cli.options import Json
from qufur.cli.periods import promised, standing
from qufur.cli.target import on_telling_columns


def status(state: State, json: Json = False) -> None:
    """Show budget, outstanding labels, the estimated error and where new domains seem to begin."""
    book = opened(state)
    report = book.learner.report()
    notes = on_telling_columns(book)
    if json:
        own = {"outstanding_ids": list(book.learner.outstanding)} | ({"notes": notes} if notes else {})
        show.print_json(asdict(report) | own | standing(book))
        return
    print(f"{state}: {book.rows} rows, {book.encoding.dim} inputs, labels in column {book.target!r}\n")
    print(report)
    waiting = book.learner.outstanding
    if waiting:
        few = ", ".join(map(str, waiting[:10])) + (", …" if len(waiting) > 10 else "")
        print(f"{'outstanding':14}{few}")
    if book.periods is not None:
        print(promised(book))
    for note in notes:
        print(note)
