"""What the commands of the loop share: the state file and its lock, rows in, tables out, and what to note."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from qufur.cli.imports import without_pandas
from qufur.errors import invalid
from qufur.labelling.journal import journal_of
from qufur.progress import track_rows
from qufur.storage.lock import lock_of
from qufur.tables import Batch, open_table, writers
from qufur.tables.batch import rows_at_a_time
from qufur.tables.formats.base import TableFile
from qufur.tables.places import files_at
from qufur.tables.source import Source
from qufur.workbook import Workbook

Write = writers.Write
table = writers.table
State = Annotated[Path, typer.Option(metavar="FILE", help="The state file of the work.")]


def files_of(state: Path) -> dict[str, Path]:
    """Return what must not be written over: the state file, its lock, and its record of calls."""
    return {"the state file": state, "its lock": lock_of(state), "its record of calls": journal_of(state)}


def opened(state: Path) -> Workbook:
    """Return the work so far."""
    if not state.is_file():
        remedy = "`qufur ask` makes one, and so does `qufur learn`."
        raise invalid("--state", "qufur", "an existing file", repr(str(state)), remedy)
    with without_pandas():
        return Workbook.load(state)


def tables_at(data: Path) -> dict[str, Path]:
    """Return the files of a table, which must not be written over."""
    files = files_at(data)
    return {"the table": files[0]} if len(files) == 1 else {f"the table {file}": file for file in files}


def digest_of(path: Path) -> str:
    """Return a digest of the bytes of a table's file."""
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    found = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def keep_dialect(book: Workbook, source: Source, file: TableFile) -> None:
    """Let later tables be read as this one, if it is the first of its kind or somebody said how it is."""
    said = source.separator is not None or source.decimal is not None
    if file.dialect is not None and (said or book.dialect is None):
        book.dialect = file.dialect


class Rows:
    """The batches of a table, counted as they go by.

    Parameters
    ----------
    data
        The table.
    label
        Stands beside the progress bar; None for no bar.
    text
        Whether a column is embedded on the way.
    total
        How many rows there are, if that is known.
    """

    def __init__(self, data: Source, label: str | None, *, text: bool, total: int | None = None) -> None:
        self.file = open_table(data)
        batches = self.file.batches(rows_at_a_time(text=text))
        head = next(batches)
        self.columns = head.columns
        self.count = 0
        self._batches, self._label, self._total = chain([head], batches), label, total
        self._looks: list[Callable[[Batch], None]] = []

    def watch(self, look: Callable[[Batch], None]) -> None:
        """Let something look at the batches as they go by."""
        self._looks.append(look)

    def __iter__(self) -> Iterator[Batch]:
        shown = track_rows(self._batches, self._label, self._total) if self._label else self._batches
        for batch in shown:
            self.count += len(batch)
            for look in self._looks:
                look(batch)
            yield batch
