"""Concatenation of several files with the same columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.formats.base import TableFile


class ConcatenatedFiles(TableFile):
    """Rows of several files, one file after the other. The order of columns may differ between files.

    Parameters
    ----------
    path
        Folder or glob pattern of the files.
    files
        Open files in the order of their rows.
    """

    format = "table"

    def __init__(self, path: Path, files: Sequence[TableFile]) -> None:
        super().__init__(path)
        self._files, first = files, files[0]
        self.columns, self.numbers = first.columns, first.numbers
        self.dialect = first.dialect
        self.target, self.domain, self.truth = first.target, first.domain, first.truth
        for file in files:
            self._check_columns(file, first)
            self.notes += file.notes

    def count(self) -> int:
        """Return the number of rows of all files."""
        return sum(file.count() for file in self._files)

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield batches of `size` rows; each batch comes from a single file."""
        before = 0
        for file in self._files:
            for batch in file.batches(size, columns or self.columns):
                yield replace(batch, before=before)
                rows = batch.first + len(batch) - 1
            before += rows

    def _check_columns(self, file: TableFile, first: TableFile) -> None:
        for expected, checked in ((first, file), (file, first)):
            missing = [name for name in expected.columns if name not in checked.columns]
            if missing:
                allowed = f"the columns of {expected.path.name}"
                received = f"no column {missing[0]!r}"
                remedy = "Use a separate command for files with other columns."
                raise invalid("columns", checked.path.name, allowed, received, remedy)
