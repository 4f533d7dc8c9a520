"""Files of a dataset in progress: results in parts, and one state file.

Every row is decided exactly once, whichever process is killed. The state file contains the workbook and, in
the same atomic write, the number of rows of the dataset that it has decided. The part with the results of the
rows between two states is written before the second state, under the number of its first row. After a crash
the results of all rows that the state has decided exist, and at most one further part. The rows of that part
are decided again by the same state, including its random generator, and in the same batches: the new part
begins with the same bits. No result is used before a state file confirms it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qufur._internal.counts import counted
from qufur.errors import InvalidError, invalid
from qufur.storage import container, versions
from qufur.storage.atomic import replacing
from qufur.storage.versions import History
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa


class Record:
    """Files of one dataset.

    Parameters
    ----------
    state
        The state file.
    workbook
        Its workbook, with the inputs that the dataset appends and the dataset in `partial_tables`.
    table
        The digest of the dataset.
    out
        The folder of results, which may also hold results of other datasets.
    command
        The name of this run in the history of the state file.
    """

    def __init__(self, state: Path, workbook: Workbook, table: str, out: Path, command: str) -> None:
        self._state, self.table, self._out, self._command = state, table, out, command
        self.packed = container.pack(workbook.content())
        self.done = workbook.partial_tables[table]
        self._before = workbook.history.before if self.done else None
        if self.done:
            self._check_parts()

    def write(self, packed: bytes, answers: Sequence[pa.Table]) -> None:
        """Write the answers to all rows since the last state, then the new state."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if answers:
            self._out.mkdir(parents=True, exist_ok=True)
            if not self.done:
                self._clear()
            with replacing(self._part(self.done)) as file:
                pq.write_table(pa.concat_tables(answers), file)
        workbook = Workbook.from_content(container.unpack(packed, "the state"))
        self._save(workbook, f"{counted(workbook.partial_tables[self.table], 'row')} so far")
        self.packed, self.done = packed, workbook.partial_tables[self.table]

    def finish(self) -> Workbook:
        """Mark the dataset as complete, and return the workbook."""
        workbook = Workbook.from_content(container.unpack(self.packed, "the state"))
        del workbook.partial_tables[self.table]
        workbook.monitor.timeline.note(workbook.learner)
        self._save(workbook, counted(self.done, "row"))
        return workbook

    @contextmanager
    def or_nothing(self) -> Iterator[None]:
        """Undo all writes if the input is invalid, so that no row of the dataset is decided."""
        try:
            yield
        except InvalidError:
            if self._before:
                versions.restore(self._state, self._before[0])
            elif self._before is not None:
                self._state.unlink(missing_ok=True)
            self._clear()
            raise

    def parts(self) -> list[Path]:
        """Return the files of results, in order."""
        paths = self._out.glob(f"{self.table}-*.parquet")
        return sorted(path for path in paths if _first(path) < self.done)

    def queried_ids(self) -> set[str]:
        """Return the ids of all queried rows, as text."""
        import pyarrow.parquet as pq

        tables = (pq.read_table(path, columns=["id", "query"]) for path in self.parts())
        return {str(id) for table in tables for id in table.filter(table["query"])["id"].to_pylist()}

    def _clear(self) -> None:
        """Remove results of this dataset, for example of a run that was undone or whose state was lost."""
        for part in self._out.glob(f"{self.table}-*.parquet"):
            part.unlink()

    def _part(self, first: int) -> Path:
        return self._out / f"{self.table}-{first:015d}.parquet"

    def _save(self, workbook: Workbook, outcome: str) -> None:
        if self._before is None:  # one version, so that `qufur undo` reverts the whole dataset
            self._before = versions.keep(self._state, workbook.history.before)
        workbook.history = History(self._command, outcome, int(time.time()), self._before)
        workbook.save(self._state)
        if self._before:
            versions.prune(self._state, self._before)

    def _check_parts(self) -> None:
        """Raise an error if results that the state file counts are missing."""
        import pyarrow.parquet as pq

        rows = 0  # -1 after a gap
        for path in self.parts():
            rows = rows + pq.read_metadata(path).num_rows if _first(path) == rows else -1
        if rows != self.done:
            received = f"{str(self._out)!r}, which lacks some of them"
            remedy = "Use the folder of the previous call, or revert its decisions with `qufur undo`."
            allowed = f"the folder of the first {self.done} results"
            raise invalid("out", "cluster.ask", allowed, received, remedy)


def _first(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])
