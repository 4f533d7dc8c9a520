"""Parquet files, read by polars."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qufur.errors import missing_extra
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import clean
from qufur.tables.formats.text_lines import no_rows, unreadable
from qufur.tables.sources.base import sound

if TYPE_CHECKING:
    import polars as pl

# Every slice opens the file anew and decodes part of a row group: 8 MB of numbers at a time make this cheap.
_CELLS = 2**20


def parquet_batches(path: Path, size: int) -> Iterator[Batch]:
    """Yield the rows; dates become text, lists and arrays of numbers embeddings."""
    try:
        import polars as pl
    except ImportError:
        raise missing_extra("polars", "tables", "reading tables") from None
    with sound(partial(unreadable, path, "Parquet")):
        table = pl.scan_parquet(path, glob=False)
        head = table.head(1).collect()
    rows = size * max(1, _CELLS // (size * _width(head, path)))
    start = 0
    while len(frame := _rows(table, start, rows, path)):
        for place in range(0, len(frame), size):
            part = frame.slice(place, size)
            yield Batch({name: _column(part[name]) for name in part.columns}, start + place + 1, path.name)
        start += len(frame)


def _rows(table: pl.LazyFrame, start: int, count: int, path: Path) -> pl.DataFrame:
    with sound(partial(unreadable, path, "Parquet")):
        return table.slice(start, count).collect()


def _width(head: pl.DataFrame, path: Path) -> int:
    if head.is_empty():
        raise no_rows(path)
    return sum(len(cell) if isinstance(cell, list) else 1 for cell in map(clean, head.row(0)))


def _column(series: pl.Series) -> Column:
    import polars as pl

    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return _lists(series.arr.to_list() if isinstance(dtype, pl.Array) else series)
    if dtype.is_float() or dtype.is_decimal():
        return series.cast(pl.Float64).fill_null(math.nan).to_numpy()
    if dtype.is_integer() and not series.null_count():
        return series.to_numpy()
    if dtype.is_temporal() and not isinstance(dtype, pl.Duration):
        series = series.cast(pl.String)
    return [clean(cell) for cell in series.to_list()]


def _lists(series: pl.Series) -> Column:
    lengths = series.list.len().unique()
    if series.null_count() or len(lengths) > 1 or not lengths[0] or not series.explode().dtype.is_numeric():
        return series.to_list()
    return series.explode().to_numpy().reshape(len(series), -1)
