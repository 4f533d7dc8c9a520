"""Files as streams: CSV, Parquet, NPY and NPZ, read in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from qufur.arrays import Floats, Ints, as_count
from qufur.errors import invalid
from qufur.streams.base import Chunk, Stream
from qufur.streams.scaled import Summary
from qufur.tables.batch import nearest
from qufur.tables.sources.base import Source, no_rows
from qufur.tables.sources.csv import CsvSource
from qufur.tables.sources.npy import NpySource
from qufur.tables.sources.npz import NpzSource
from qufur.tables.sources.parquet import ParquetSource

SOURCES: dict[str, type[Source]] = {
    ".csv": CsvSource,
    ".parquet": ParquetSource,
    ".npy": NpySource,
    ".npz": NpzSource,
}
_ROWS = 4096


class Table(Stream):
    r"""The rows of a file, in its order; only a chunk of them is in memory.

    Columns are checked when the table is opened, cells when they are read.

    Parameters
    ----------
    path
        A .csv file with a header line (UTF-8, commas), a .parquet file (needs polars), an .npy matrix, whose
        columns are called x0, x1, …, or an .npz archive of arrays X and y, whose columns are called x0, x1, …
        and y; arrays domain and truth are used if there.
    target
        The column of labels; None if there is none to read, and every label is 0.
    features
        The columns of x; None takes all but the target, the domain and those to skip.
    skip
        Columns to leave out.
    domain
        A column of whole numbers, where the domains are known.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "days.csv")
    ...     _ = path.write_text("wind,rain,delay\n1,0,0.5\n3,1,2.5\n")
    ...     stream = Table(path, "delay")
    ...     stream.features, stream.horizon, next(stream.chunks(10)).y.tolist()
    (('wind', 'rain'), 2, [0.5, 2.5])
    """

    def __init__(
        self,
        path: str | PathLike[str],
        target: str | None,
        *,
        features: Sequence[str] | None = None,
        skip: Sequence[str] = (),
        domain: str | None = None,
    ) -> None:
        self._source = _open(Path(path))
        self.target, self.domain = target, domain or self._source.domain
        aside = (self.target or self._source.target, self.domain, self._source.truth, *skip)
        others = [name for name in self._source.columns if name not in aside]
        self.features = tuple(others if features is None else features)
        self.dim = len(self.features)
        self._check_columns(skip)

    @cached_property
    def horizon(self) -> int:  # type: ignore[override]  # lazily: counting reads the file
        """Number of rows, counted when first asked for."""
        return self._source.count()

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Read `size` rows at a time."""
        size = as_count(size, "size", "Table.chunks")
        extras = [name for name in (self.target, self._source.truth, self.domain) if name]
        first = 1
        for block in self._source.blocks([*self.features, *extras], size):
            column = {name: block[:, self.dim + j].copy() for j, name in enumerate(extras)}
            y = column[self.target] if self.target else np.zeros(len(block))
            truth = column[self._source.truth] if self._source.truth else None
            domain = self._labels(column[self.domain], first) if self.domain else None
            yield Chunk(np.ascontiguousarray(block[:, : self.dim]), y, truth, domain)
            first += len(block)

    def summary(self) -> Summary:
        """Count, mean and deviation of every feature, and the range of the target, in one pass."""
        return Summary.of(self.chunks(_ROWS))

    def _labels(self, values: Floats, first: int) -> Ints:
        odd = np.flatnonzero((values % 1 != 0) | (abs(values) > 2**53))
        if len(odd):
            received = f"{values[odd[0]]} in row {first + odd[0]}"
            raise invalid(f"column {self.domain!r}", self._source.path.name, "whole numbers", received)
        return values.astype(np.int64)

    def _check_columns(self, skip: Sequence[str]) -> None:
        columns, file = self._source.columns, self._source.path.name
        if len(set(columns)) < len(columns):
            twice = next(name for name in columns if columns.count(name) > 1)
            raise invalid("columns", file, "of different names", f"{twice!r} more than once")
        for name in (*filter(None, [self.target]), *self.features, *skip, *filter(None, [self.domain])):
            if name not in columns:
                raise invalid(f"column {name!r}", file, *nearest(name, columns))
        inputs = set(self.features) - {self.target, self.domain, self._source.truth}
        if not inputs or len(inputs) < self.dim:
            allowed = "one or more different columns that are neither target nor domain"
            raise invalid("features", "Table", allowed, list(self.features))


def _open(path: Path) -> Source:
    source = SOURCES.get(path.suffix.lower())
    if source is None:
        raise invalid("path", "Table", f"a file ending in {', '.join(SOURCES)}", repr(str(path)))
    if not path.is_file():
        raise invalid("path", "Table", "an existing file", repr(str(path)), "Check its folder and spelling.")
    if path.stat().st_size == 0:
        raise no_rows(path, "0 bytes")
    return source(path)
