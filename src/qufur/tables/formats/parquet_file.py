"""Parquet files, read by polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from qufur.errors import import_extra
from qufur.tables.batch import Batch
from qufur.tables.cells import Column, clean
from qufur.tables.formats.base import TableFile, no_rows

if TYPE_CHECKING:
    import polars as pl

# Cells per slice: 12 MB of numbers. Each slice reopens the file and decodes part of a row group, so small
# slices are expensive.
_CELLS = 3 * 2**19


class ParquetFile(TableFile):
    """Parquet file, with one slice in memory at a time.

    Dates become text; lists and arrays of numbers become embeddings.
    """

    format = "Parquet"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        polars = import_extra("polars", "tables", "reading tables")
        with self.sound():
            self._table: pl.LazyFrame = polars.scan_parquet(path, glob=False)
            self.columns = self._table.collect_schema().names()
            self._head = self._table.head(1).collect()
        if self._head.is_empty():
            raise no_rows(path)

    def count(self) -> int:
        """Return the number of rows from the file's footer."""
        import polars as pl

        with self.sound():
            return int(self._table.select(pl.len()).collect().item())

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read slices of about `_CELLS` cells and yield batches of `size` rows."""
        names = list(columns or self.columns)
        rows = size * max(1, _CELLS // (size * _width(self._head[names])))
        for start in range(0, self.count(), rows):
            # The slice is not bound to a name, so that its memory is freed before the next one is read.
            yield from batches_of(self._rows(names, start, rows), size, start + 1, self.path.name)

    def _rows(self, names: list[str], start: int, count: int) -> pl.DataFrame:
        from polars.selectors import by_name  # `select` reads a name such as * or ^a$ as a pattern

        with self.sound():
            return self._table.select(by_name(names)).slice(start, count).collect()


def batches_of(frame: pl.DataFrame, size: int, first: int, file: str) -> Iterator[Batch]:
    """Yield batches of `size` rows of a frame whose first row is number `first` in its file."""
    numbers = {name: _numbers(frame[name]) for name in frame.columns}
    for start in range(0, len(frame), size):
        rows = slice(start, start + size)
        cells = {
            name: _cells(frame[name][rows]) if column is None else column[rows]
            for name, column in numbers.items()
        }
        yield Batch(cells, first + start, file)


def _width(head: pl.DataFrame) -> int:
    """Return the number of numbers per row; a list counts with its length."""
    return sum(len(cell) if isinstance(cell, list) else 1 for cell in map(clean, head.row(0)))


def _numbers(series: pl.Series) -> NDArray[Any] | None:
    """Return a numeric column as an array; None for other types and for integers with nulls."""
    import polars as pl

    dtype = series.dtype
    if dtype.is_float() or dtype.is_decimal():
        return series.cast(pl.Float64).to_numpy()  # null becomes NaN
    return series.to_numpy() if dtype.is_integer() and not series.null_count() else None


def _cells(series: pl.Series) -> Column:
    """Return a column that `_numbers` does not convert: lists, dates as text, and other cells."""
    import polars as pl

    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return _lists(series.arr.to_list() if isinstance(dtype, pl.Array) else series)
    if dtype.is_temporal() and not isinstance(dtype, pl.Duration):
        series = series.cast(pl.String)
    return [clean(cell) for cell in series.to_list()]


def _lists(series: pl.Series) -> Column:
    """Return lists of numbers of one length as a matrix, other lists unchanged."""
    lengths = series.list.len().unique()
    if series.null_count() or len(lengths) > 1 or not lengths[0] or not series.explode().dtype.is_numeric():
        return series.to_list()
    return series.explode().to_numpy().reshape(len(series), -1)
