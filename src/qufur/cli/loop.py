"""What the commands of the loop share: the state file and its lock, rows in, tables out, and what to note."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from filelock import FileLock, Timeout

from qufur.errors import invalid
from qufur.progress import track_rows
from qufur.storage.atomic import replacing
from qufur.tables import Batch, Encoding, open_table
from qufur.tables.written import escaped
from qufur.workbook import Workbook

Write = Callable[[Iterable[Sequence[Any]]], None]
State = Annotated[Path, typer.Option(metavar="FILE", help="The state file of the work.")]
ROWS, ROWS_OF_TEXT = 4096, 32
"""Rows at a time; a text takes as long as thousands of numbers, and progress must show."""
SHOWN = 5
"""How many names a note lists."""


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Keep other processes from the state file, by whatever link, or complain that one has it."""
    lock = lock_of(state)
    if not lock.parent.is_dir():
        raise invalid("--state", "qufur", "a file in a folder that exists", repr(str(state)))
    if state.exists() and not state.is_file():
        raise invalid("--state", "qufur", "a regular file, or a new one", repr(str(state)))
    try:
        with FileLock(lock, timeout=0):
            yield
    except Timeout:
        remedy = "Wait until it is done."
        raise invalid(
            "--state", "qufur", "free", f"{str(state)!r}, which another process uses", remedy
        ) from None


def lock_of(state: Path) -> Path:
    """Return the file whose lock stands for a state file: it lies beside the one that links lead to."""
    return Path(f"{os.path.realpath(state)}.lock")


def files_of(state: Path) -> dict[str, Path]:
    """Return what must not be written over: the state file, and its lock."""
    return {"the state file": state, "its lock": lock_of(state)}


def opened(state: Path) -> Workbook:
    """Return the work so far."""
    if not state.is_file():
        remedy = "`qufur ask` makes one."
        raise invalid("--state", "qufur", "an existing file", repr(str(state)), remedy)
    return Workbook.load(state)


def digest_of(path: Path) -> str:
    """Return a digest of a table's bytes."""
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    found = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


@contextmanager
def table(path: Path, columns: Sequence[str]) -> Iterator[Write]:
    """Yield a function that writes rows; the CSV file is there when all of them are, or not at all."""
    with replacing(path) as file:
        # Half a character from elsewhere must not keep a whole table from being written.
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        writer = csv.writer(text)

        def write(rows: Iterable[Sequence[Any]]) -> None:
            writer.writerows(map(escaped, row) for row in rows)

        write([columns])
        yield write
        text.flush()
        text.detach()


class Rows:
    """The batches of a table, counted as they go by.

    Parameters
    ----------
    data
        The file.
    label
        Stands beside the progress bar; None for no bar.
    text
        Whether a column is embedded on the way.
    total
        How many rows there are, if that is known.
    """

    def __init__(self, data: Path, label: str | None, *, text: bool, total: int | None = None) -> None:
        self.file = open_table(data)
        batches = self.file.batches(ROWS_OF_TEXT if text else ROWS)
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


def on_constant_columns(encoding: Encoding) -> list[str]:
    """Say which columns of the first table have no effect from now on."""
    if not encoding.constant:
        return []
    return [
        f"The same in all rows, so without effect, also later: {_few(map(repr, encoding.constant))}.",
        "What will vary needs a start with --categorical, or with a table in which it does.",
    ]


class NewCategories:
    """The categories that the first table did not have, gathered batch by batch."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._found: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, batch: Batch) -> None:
        """Look at a batch that was encoded."""
        for name, new in self._encoding.new_categories(batch).items():
            self._found[name] |= new

    def notes(self) -> list[str]:
        """Say what they are."""
        return [
            f"New in column {name!r} since the first table, so counted as none: {_few(new)}."
            for name, new in ((name, sorted(new, key=_order)) for name, new in self._found.items())
        ]


def _few(words: Iterable[str]) -> str:
    listed = list(words)
    return ", ".join(listed[:SHOWN]) + (", …" if len(listed) > SHOWN else "")


def _order(category: str) -> tuple[int, str]:
    return len(category), category  # which puts 9 before 10
