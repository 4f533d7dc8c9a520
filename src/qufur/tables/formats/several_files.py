"""Several files of the same columns as one table, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.formats.base import TableFile


class SeveralFiles(TableFile):
    """The rows of some files in their order; columns may be in another order in each.

    Parameters
    ----------
    path
        What the files were named by.
    files
        Each one opened.
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
        """Count the rows of each."""
        return sum(file.count() for file in self._files)

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read `size` rows at a time, of one file each."""
        before = 0
        for file in self._files:
            for batch in file.batches(size, columns or self.columns):
                yield replace(batch, before=before)
                rows = batch.first + len(batch) - 1
            before += rows

    def _check_columns(self, file: TableFile, first: TableFile) -> None:
        for one, other in ((first, file), (file, first)):
            lacking = [name for name in one.columns if name not in other.columns]
            if lacking:
                allowed = f"columns like those of {one.path.name}"
                received = f"none called {lacking[0]!r}"
                remedy = "Give files of other columns to a command of their own."
                raise invalid("columns", other.path.name, allowed, received, remedy)
