"""Parquet files, read by polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qufur.arrays import Floats
from qufur.errors import invalid, missing_extra
from qufur.tables.sources.base import Source, bad_cell, first_odd, no_rows, sound, unreadable

if TYPE_CHECKING:
    import polars as pl

# Every slice opens the file anew and decodes part of a row group: 12 MB at a time make this cheap.
_CELLS = 3 * 2**19


class ParquetSource(Source):
    """A Parquet file; numbers and booleans can be read, one slice in memory at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            import polars as pl
        except ImportError:
            raise missing_extra("polars", "tables", "reading tables") from None
        with self._sound():
            self._frame = pl.scan_parquet(path, glob=False)
            self._schema = self._frame.collect_schema()
        self.columns = self._schema.names()
        if self.count() == 0:
            raise no_rows(path, "columns but no rows")

    def count(self) -> int:
        """Look into the file's footer."""
        import polars as pl

        with self._sound():
            return int(self._frame.select(pl.len()).collect().item())

    def blocks(self, names: Sequence[str], size: int) -> Iterator[Floats]:
        """Read large slices and cut them."""
        self._check_types(names)
        rows = size * max(1, _CELLS // (size * len(names)))
        for start in range(0, self.count(), rows):
            with self._sound():
                frame = self._frame.select(names).slice(start, rows).collect()
            for place in range(0, len(frame), size):
                yield self._floats(frame.slice(place, size), start + place + 1)

    def _sound(self) -> AbstractContextManager[None]:
        return sound(partial(unreadable, self.path, "Parquet"))

    def _check_types(self, names: Sequence[str]) -> None:
        for name in names:
            dtype = self._schema[name]
            if not (dtype.is_numeric() or str(dtype) == "Boolean"):
                remedy = "Skip it."
                raise invalid(f"column {name!r}", self.path.name, "numeric", f"{dtype} values", remedy)

    def _floats(self, frame: pl.DataFrame, first: int) -> Floats:
        import polars as pl

        block: Floats = frame.cast(pl.Float64).to_numpy(order="c")
        if odd := first_odd(block):
            row, column = odd
            raise bad_cell(self.path, frame.columns[column], first + row, frame[row, column])
        return block
