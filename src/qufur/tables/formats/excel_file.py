"""Excel files, read by fastexcel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from qufur.errors import missing_extra
from qufur.tables.batch import Batch
from qufur.tables.formats.base import TableFile, check_width, no_rows
from qufur.tables.formats.excel_extent import extent_error
from qufur.tables.formats.parquet_file import batches_of


class ExcelFile(TableFile):
    """First sheet of an Excel file, with a header in its first row.

    The whole sheet is held in memory; Excel limits it to about a million rows.
    """

    format = "Excel"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            import fastexcel
        except ImportError:
            raise missing_extra("fastexcel", "excel", "reading Excel files") from None
        with self.sound():
            too_large = extent_error(path)
        if too_large is not None:
            raise too_large
        with self.sound():
            sheet = fastexcel.read_excel(path).load_sheet(
                0, schema_sample_rows=None, skip_whitespace_tail_rows=True, whitespace_as_null=True
            )
            frame = sheet.to_polars()
        if frame.is_empty():
            raise no_rows(path)
        self._frame = frame.rename({name: name.strip() for name in frame.columns})
        self.columns = self._frame.columns
        check_width(len(self.columns), path)

    def count(self) -> int:
        """Return the number of rows below the header."""
        return len(self._frame)

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield batches of `size` rows."""
        return batches_of(self._frame[list(columns or self.columns)], size, 1, self.path.name)
