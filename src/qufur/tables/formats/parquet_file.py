"""Parquet files, read by polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from qufur.errors import missing_extra
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import clean
from qufur.tables.formats.base import TableFile, no_rows

if TYPE_CHECKING:
    import polars as pl

# Every slice opens the file anew and decodes part of a row group: 12 MB of numbers at a time make this cheap.
_CELLS = 3 * 2**19


class ParquetFile(TableFile):
    """One slice in memory at a time; dates become text, lists and arrays of numbers embeddings."""

    format = "Parquet"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            import polars as pl
        except ImportError:
            raise missing_extra("polars", "tables", "reading tables") from None
        with self.sound():
            self._table = pl.scan_parquet(path, glob=False)
            self.columns = self._table.collect_schema().names()
            self._head = self._table.head(1).collect()
        if self._head.is_empty():
            raise no_rows(path)

    def count(self) -> int:
        """Look into the file's footer."""
        import polars as pl

        with self.sound():
            return int(self._table.select(pl.len()).collect().item())

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read large slices and cut them."""
        names = list(columns or self.columns)
        rows = size * max(1, _CELLS // (size * _width(self._head.select(names))))
        for start in range(0, self.count(), rows):
            # No name for a slice here: it must be gone before the next is read.
            yield from batches_of(self._rows(names, start, rows), size, start + 1, self.path.name)

    def _rows(self, names: list[str], start: int, count: int) -> pl.DataFrame:
        with self.sound():
            return self._table.select(names).slice(start, count).collect()


def batches_of(frame: pl.DataFrame, size: int, first: int, file: str) -> Iterator[Batch]:
    """Cut a frame, whose first row has a number in its file."""
    numbers = {name: _numbers(frame[name]) for name in frame.columns}
    for place in range(0, len(frame), size):
        part = slice(place, place + size)
        cells = {
            name: _cells(frame[name][part]) if column is None else column[part]
            for name, column in numbers.items()
        }
        yield Batch(cells, first + place, file)


def _width(head: pl.DataFrame) -> int:
    return sum(len(cell) if isinstance(cell, list) else 1 for cell in map(clean, head.row(0)))


def _numbers(series: pl.Series) -> NDArray[Any] | None:
    import polars as pl

    dtype = series.dtype
    if dtype.is_float() or dtype.is_decimal():
        return series.cast(pl.Float64).to_numpy()  # what is null is NaN there
    return series.to_numpy() if dtype.is_integer() and not series.null_count() else None


def _cells(series: pl.Series) -> Column:
    import polars as pl

    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return _lists(series.arr.to_list() if isinstance(dtype, pl.Array) else series)
    if dtype.is_temporal() and not isinstance(dtype, pl.Duration):
        series = series.cast(pl.String)
    return [clean(cell) for cell in series.to_list()]


def _lists(series: pl.Series) -> Column:
    lengths = series.list.len().unique()
    if series.null_count() or len(lengths) > 1 or not lengths[0] or not series.explode().dtype.is_numeric():
        return series.to_list()
    return series.explode().to_numpy().reshape(len(series), -1)
