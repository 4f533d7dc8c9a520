"""What is on disk of a dataset that is being asked about: results in parts, and one state file.

Why every row is decided exactly once, whoever is killed: the state file has the workbook and, in the same
atomic write, how many rows of the dataset it has decided. A part with the results of the rows between two
states is written before the second of them, under the number of its first row. So after a crash there are the
results of all rows that the state has decided, and at most one part more. The rows of that part are decided
again by the same state, its random generator included, and cut in the same places: the part is replaced by
one that begins with the same bits. Nobody acts on a result before the state says that it stands.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qufur.counts import counted
from qufur.errors import InvalidError, invalid
from qufur.storage import container, versions
from qufur.storage.atomic import replacing
from qufur.storage.versions import History
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa


class Record:
    """The files of one dataset.

    Parameters
    ----------
    state
        The state file.
    book
        What it has, grown as the dataset needs it, and with the dataset among its unfinished tables.
    table
        The digest of the dataset.
    out
        The folder of results; those of other datasets may be there too.
    command
        What the history of the state file calls the work.
    """

    def __init__(self, state: Path, book: Workbook, table: str, out: Path, command: str) -> None:
        self._state, self.table, self._out, self._command = state, table, out, command
        self.packed = container.pack(book.content())
        self.done = book.unfinished[table]
        self._before = book.history.before if self.done else None
        if self.done:
            self._check_parts()

    def write(self, packed: bytes, answers: Sequence[pa.Table]) -> None:
        """Let a later state stand, with the answers to all rows since the last."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if answers:
            self._out.mkdir(parents=True, exist_ok=True)
            if not self.done:
                self._clear()
            with replacing(self._part(self.done)) as file:
                pq.write_table(pa.concat_tables(answers), file)
        book = Workbook.from_content(container.unpack(packed, "the state"))
        self._save(book, f"{counted(book.unfinished[self.table], 'row')} so far")
        self.packed, self.done = packed, book.unfinished[self.table]

    def finish(self) -> Workbook:
        """Let the dataset be one that was asked about; return the workbook."""
        book = Workbook.from_content(container.unpack(self.packed, "the state"))
        del book.unfinished[self.table]
        book.watch.course.note(book.learner)
        self._save(book, counted(self.done, "row"))
        return book

    @contextmanager
    def or_nothing(self) -> Iterator[None]:
        """Take back what was written if bad input is met: then nothing of a table is asked about."""
        try:
            yield
        except InvalidError:
            if self._before:
                versions.take_back(self._state, self._before[0])
            elif self._before is not None:
                self._state.unlink(missing_ok=True)
            self._clear()
            raise

    def parts(self) -> list[Path]:
        """Return the files of results, in order."""
        found = self._out.glob(f"{self.table}-*.parquet")
        return sorted(path for path in found if _first(path) < self.done)

    def wanted(self) -> set[str]:
        """Return the ids of all rows whose labels are wanted, as text."""
        import pyarrow.parquet as pq

        tables = (pq.read_table(path, columns=["id", "query"]) for path in self.parts())
        return {str(id) for table in tables for id in table.filter(table["query"])["id"].to_pylist()}

    def _clear(self) -> None:
        """Remove results of this dataset, such as those of work that was undone or lost since."""
        for part in self._out.glob(f"{self.table}-*.parquet"):
            part.unlink()

    def _part(self, first: int) -> Path:
        return self._out / f"{self.table}-{first:015d}.parquet"

    def _save(self, book: Workbook, outcome: str) -> None:
        if self._before is None:  # `qufur undo` takes all of it back
            self._before = versions.keep(self._state, book.history.before)
        book.history = History(self._command, outcome, int(time.time()), self._before)
        book.save(self._state)
        if self._before:
            versions.prune(self._state, self._before)

    def _check_parts(self) -> None:
        """Complain if results are not there that the state file speaks of."""
        import pyarrow.parquet as pq

        rows = 0
        for path in self.parts():
            rows = rows + pq.read_metadata(path).num_rows if _first(path) == rows else -1
        if rows != self.done:
            received = f"{str(self._out)!r}, which lacks some of them"
            remedy = "Name the folder of the call before; `qufur undo` takes back what was decided."
            allowed = f"the folder of the first {self.done} results"
            raise invalid("out", "cluster.ask", allowed, received, remedy)


def _first(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])
