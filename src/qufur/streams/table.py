"""Table files as streams, read in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from os import PathLike

import numpy as np

from qufur.arrays import Floats, Ints, as_count
from qufur.errors import invalid
from qufur.streams.base import Chunk, Stream
from qufur.streams.scaled import Summary
from qufur.tables import Batch, Encoding, labels, open_table
from qufur.tables.batch import spread
from qufur.tables.labels import class_labels

_ROWS = 4096


class Table(Stream):
    r"""Rows of a file as a stream, in file order; only one chunk is in memory.

    Columns are checked when the table is opened, cells when they are read.

    Parameters
    ----------
    path
        File in any format of `qufur.tables.read`: CSV, JSON lines, Parquet, NPY or NPZ. The columns of X in
        an .npz archive are named x0, x1, …; its arrays domain and truth are used if present.
    target
        Column of labels. None: labels are not read, and all are 0.
    features
        Columns of x. None: all columns except the target, the domain and those in `skip`.
    skip
        Columns to ignore.
    domain
        Column of integers that number the domains, if available.
    encoding
        Encoding of columns of mixed types, in place of `features` and `skip`. Without it every cell must be a
        finite number and is used unchanged; true is 1 and false is 0.
    classes
        With an encoding: the classes in the target. Labels are their positions in this sequence.

    Examples
    --------
    >>> from pathlib import Path
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
        encoding: Encoding | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        self._file = open_table(path)
        self._encoding, self._classes = encoding, classes
        self.target, self.domain = target, domain or self._file.domain
        if encoding is not None:
            features = list(dict.fromkeys(column.name for column in encoding.columns))
        excluded = {*self._file.aside(target, domain), *skip}
        self.features = tuple(self._columns(excluded) if features is None else features)
        self.dim = len(self.features) if encoding is None else encoding.dim
        self._check_columns(skip)

    @cached_property
    def horizon(self) -> int:  # type: ignore[override]  # lazy: counting reads the file
        """Number of rows, counted on first access."""
        return self._file.count()

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Read `size` rows at a time."""
        size = as_count(size, "size", "Table.chunks")
        extras = [name for name in (self.target, self._file.truth, self.domain) if name]
        batches = self._file.batches(size, [*self.features, *extras])
        # Holding a batch in a variable would keep it in memory while the next one is read.
        yield from map(partial(self._chunk, extras), batches)

    def summary(self) -> Summary:
        """Compute the moments of every feature and the range of the target in one pass."""
        return Summary.of(self.chunks(_ROWS))

    def _chunk(self, extras: list[str], batch: Batch) -> Chunk:
        X, columns = self._read(batch, extras)
        y = columns[self.target] if self.target else np.zeros(len(X))
        truth = columns[self._file.truth] if self._file.truth else None
        domain = self._integers(columns[self.domain], batch) if self.domain else None
        return Chunk(X, y, truth, domain)

    def _read(self, batch: Batch, extras: list[str]) -> tuple[Floats, dict[str, Floats]]:
        if self._encoding is not None:
            return self._encoding.encode(batch), {name: self._labels(batch, name) for name in extras}
        block = batch.plain_numbers([*self.features, *extras])
        X = np.ascontiguousarray(block[:, : self.dim])
        return X, {name: block[:, self.dim + j].copy() for j, name in enumerate(extras)}

    def _labels(self, batch: Batch, name: str) -> Floats:
        if self._classes is not None and name == self.target:
            return class_labels(batch, name, self._classes)[1]
        return labels(batch, name)[1]

    def _integers(self, values: Floats, batch: Batch) -> Ints:
        fractional = np.flatnonzero((values % 1 != 0) | (abs(values) > 2**53))
        if len(fractional):
            received = f"{values[fractional[0]]} in row {batch.row(int(fractional[0]))}"
            raise invalid(f"column {self.domain!r}", batch.file, "whole numbers", received)
        return values.astype(np.int64)

    def _columns(self, excluded: set[str]) -> list[str]:
        names = [name for name in self._file.columns if name not in excluded]
        return [name for name in spread(names, self._file.numbers) if name not in excluded]

    def _check_columns(self, skip: Sequence[str]) -> None:
        for name in (*filter(None, [self.target]), *self.features, *skip, *filter(None, [self.domain])):
            self._file.check(name)
        inputs = set(self.features) - {self.target, self.domain, self._file.truth}
        if not inputs or len(inputs) < len(self.features):
            allowed = "one or more different columns that are neither target nor domain"
            raise invalid("features", "Table", allowed, list(self.features))
