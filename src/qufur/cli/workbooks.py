"""What the commands share that work with one state file: a lock, and tables of answers."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from filelock import FileLock, Timeout

from qufur.atomic import replacing
from qufur.errors import invalid
from qufur.workbook import Workbook

State = Annotated[Path, typer.Option(metavar="FILE", help="The state file of the work.")]


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Keep other processes from the state file, or complain that one has it."""
    if not state.parent.is_dir():
        raise invalid("--state", "qufur", "a file in a folder that exists", repr(str(state)))
    try:
        with FileLock(f"{state}.lock", timeout=0):
            yield
    except Timeout:
        remedy = "Wait until it is done."
        raise invalid(
            "--state", "qufur", "free", f"{str(state)!r}, which another process uses", remedy
        ) from None


def opened(state: Path) -> Workbook:
    """Return the work so far."""
    if not state.exists():
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
def table(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Yield a writer of rows; the CSV file is there when all of them are, or not at all."""
    if not path.parent.is_dir() or path.is_dir():
        raise invalid("--out", "qufur", "a file in a folder that exists", repr(str(path)))
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        yield writer
        text.flush()
        text.detach()
