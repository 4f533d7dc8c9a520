"""State file with its earlier versions, and the table reader, shared by the commands."""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

from qufur._internal.progress import track_rows
from qufur.cli._flags import with_flags
from qufur.errors import invalid
from qufur.labelling.journal import journal_of
from qufur.models import Model
from qufur.models.engines import compiled
from qufur.storage import versions
from qufur.storage.lock import lock_of, locked
from qufur.tables import Batch, open_table
from qufur.tables.batch import rows_at_a_time
from qufur.tables.source import Source, files_at
from qufur.workbook import Workbook


def save_state(workbook: Workbook, state: Path, command: str, outcome: str) -> None:
    """Save the state file; keep the previous version for `qufur undo`."""
    workbook.monitor.timeline.note(workbook.learner)
    before = versions.keep(state, workbook.history.before)
    workbook.history = versions.History(command, outcome, int(time.time()), before)
    workbook.save(state)
    if before:
        versions.prune(state, before)


def when(seconds: int) -> str:
    """Format a time; include the date unless it is today."""
    at, today = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M" if at[:3] == today[:3] else "%Y-%m-%d %H:%M", at)


SECONDS_PER_UNIT = {"h": 3600, "d": 86400, "w": 7 * 86400}


def since(age: str | None, command: str) -> float | None:
    """Return the time that is `age` ago, in seconds since 1970; None without an age."""
    if age is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([hdw])", age.strip())
    if match is None:
        raise invalid("--expire", command, "hours, days or weeks, such as 12h, 30d or 2w", repr(age))
    return time.time() - float(match[1]) * SECONDS_PER_UNIT[match[2]]


@contextmanager
def without_pandas() -> Iterator[None]:
    """Hide pandas in this context, so that importing scikit-learn saves 30 MB and half a second.

    scikit-learn imports an installed pandas to recognise data frames; commands use none. None in
    `sys.modules` makes the import fail; afterwards pandas can be imported as usual.
    """
    if "pandas" in sys.modules:
        yield
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["pandas"]


@contextmanager
def few_imports(model: Model) -> Iterator[None]:
    """Disable numba and pandas in this context: importing them takes longer than deciding without them."""
    from qufur.models.ensemble.model import EnsembleModel

    if isinstance(model, EnsembleModel):
        with without_pandas():
            import sklearn.ensemble  # noqa: F401
    with compiled.disabled():
        yield


def files_of(state: Path) -> dict[str, Path]:
    """Return the files that must not be overwritten: state file, lock, and call log."""
    return {"the state file": state, "its lock": lock_of(state), "its call log": journal_of(state)}


def load_workbook(state: Path) -> Workbook:
    """Load the workbook of a state file."""
    if not state.is_file():
        remedy = "`qufur ask` and `qufur learn` create one."
        raise invalid("--state", "qufur", "an existing file", repr(str(state)), remedy)
    with without_pandas():
        return Workbook.load(state)


@contextmanager
def locked_workbook(state: Path) -> Iterator[Workbook]:
    """Load the workbook of a state file, and hold its lock in this context."""
    with locked(state):
        yield load_workbook(state)


def tables_at(data: Path) -> dict[str, Path]:
    """Return the files of a table, which must not be overwritten."""
    files = files_at(data)
    return {"the table": files[0]} if len(files) == 1 else {f"the table {file}": file for file in files}


def register_tables(workbook: Workbook, data: Path) -> None:
    """Register the files of a table before its rows are processed; raise an error for a known file."""
    for file in files_at(data):
        workbook.register_table(digest_of(file), file.name)


def digest_of(path: Path) -> str:
    """Return a digest of the bytes of a file."""
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()


class TableReader:
    """Iterator over the batches of a table that counts rows and shows a progress bar.

    Parameters
    ----------
    data
        The table.
    label
        Text beside the progress bar; None for no bar.
    text
        Whether a text column is embedded per batch, which needs smaller batches.
    total
        Number of rows, if known.
    """

    def __init__(self, data: Source, label: str | None, *, text: bool, total: int | None = None) -> None:
        self.file = open_table(data)
        batches = self.file.batches(rows_at_a_time(text=text))
        head = next(batches)
        self.columns = head.columns
        self.count = 0
        self._batches, self._label, self._total = chain([head], batches), label, total
        self._observers: list[Callable[[Batch], None]] = []

    @property
    def notes(self) -> list[str]:
        """Notes on how the file is read."""
        return [with_flags(note) for note in self.file.notes]

    def watch(self, observer: Callable[[Batch], None]) -> None:
        """Call `observer` with each batch before it is yielded."""
        self._observers.append(observer)

    def __iter__(self) -> Iterator[Batch]:
        batches = track_rows(self._batches, self._label, self._total) if self._label else self._batches
        for batch in batches:
            self.count += len(batch)
            for observer in self._observers:
                observer(batch)
            yield batch


def read_rows(
    workbook: Workbook, source: Source, label: str | None, *, total: int | None = None
) -> TableReader:
    """Return the reader of a table for a workbook.

    The workbook keeps the CSV dialect for later tables if the options give it or it has none yet.
    """
    rows = TableReader(source, label, text=workbook.encoding.text is not None, total=total)
    is_given = source.separator is not None or source.decimal is not None
    if rows.file.dialect is not None and (is_given or workbook.dialect is None):
        workbook.dialect = rows.file.dialect
    return rows
