"""Files as streams, read in chunks."""

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
from qufur.tables.classes import class_labels
from qufur.tables.plain import plain_numbers

_ROWS = 4096


class Table(Stream):
    r"""The rows of a file, in its order; only a chunk of them is in memory.

    Columns are checked when the table is opened, cells when they are read.

    Parameters
    ----------
    path
        A file of any format that `qufur.tables.read` takes: CSV, JSON lines, Parquet, NPY or NPZ. Of an .npz
        archive, the numbers in X are called x0, x1, …, and arrays domain and truth are used if there.
    target
        The column of labels; None if there is none to read, and every label is 0.
    features
        The columns of x; None takes all but the target, the domain and those to skip.
    skip
        Columns to leave out.
    domain
        A column of whole numbers, where the domains are known.
    encoding
        What becomes of columns of mixed kinds, in the place of `features` and `skip`. Without it every cell
        must be a finite number, which is taken as it is; true is 1 and false is 0.
    classes
        With an encoding: the classes that are in the target; labels are their numbers, from 0 on.

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
        aside = {*self._file.aside(target, domain), *skip}
        self.features = tuple(self._columns(aside) if features is None else features)
        self.dim = len(self.features) if encoding is None else encoding.dim
        self._check_columns(skip)

    @cached_property
    def horizon(self) -> int:  # type: ignore[override]  # lazily: counting reads the file
        """Number of rows, counted when first asked for."""
        return self._file.count()

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Read `size` rows at a time."""
        size = as_count(size, "size", "Table.chunks")
        extras = [name for name in (self.target, self._file.truth, self.domain) if name]
        batches = self._file.batches(size, [*self.features, *extras])
        # No name for a batch here: it may keep a large part of a file in memory while the next is read.
        yield from map(partial(self._chunk, extras), batches)

    def summary(self) -> Summary:
        """Count, mean and deviation of every feature, and the range of the target, in one pass."""
        return Summary.of(self.chunks(_ROWS))

    def _chunk(self, extras: list[str], batch: Batch) -> Chunk:
        X, known = self._read(batch, extras)
        y = known[self.target] if self.target else np.zeros(len(X))
        truth = known[self._file.truth] if self._file.truth else None
        domain = self._whole(known[self.domain], batch) if self.domain else None
        return Chunk(X, y, truth, domain)

    def _read(self, batch: Batch, extras: list[str]) -> tuple[Floats, dict[str, Floats]]:
        if self._encoding is not None:
            return self._encoding.encode(batch), {name: self._labels(batch, name) for name in extras}
        block = plain_numbers(batch, [*self.features, *extras])
        X = np.ascontiguousarray(block[:, : self.dim])
        return X, {name: block[:, self.dim + j].copy() for j, name in enumerate(extras)}

    def _labels(self, batch: Batch, name: str) -> Floats:
        if self._classes is not None and name == self.target:
            return class_labels(batch, name, self._classes)[1]
        return labels(batch, name)[1]

    def _whole(self, values: Floats, batch: Batch) -> Ints:
        odd = np.flatnonzero((values % 1 != 0) | (abs(values) > 2**53))
        if len(odd):
            received = f"{values[odd[0]]} in row {batch.row(int(odd[0]))}"
            raise invalid(f"column {self.domain!r}", batch.file, "whole numbers", received)
        return values.astype(np.int64)

    def _columns(self, aside: set[str]) -> list[str]:
        kept = [name for name in self._file.columns if name not in aside]
        return [name for name in spread(kept, self._file.numbers) if name not in aside]

    def _check_columns(self, skip: Sequence[str]) -> None:
        for name in (*filter(None, [self.target]), *self.features, *skip, *filter(None, [self.domain])):
            self._file.check(name)
        inputs = set(self.features) - {self.target, self.domain, self._file.truth}
        if not inputs or len(inputs) < len(self.features):
            allowed = "one or more different columns that are neither target nor domain"
            raise invalid("features", "Table", allowed, list(self.features))
