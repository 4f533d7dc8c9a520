"""NumPy arrays, read and not mapped: pages of a mapped file would count as memory of the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.tables.sources.base import Source, bad_cell, first_odd, no_rows, sound, unreadable
from qufur.tables.sources.npz import header


class NpySource(Source):
    """A matrix (T, d), in rows or in columns; these are called x0, x1, …, and one of them is the target."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with path.open("rb") as file, sound(partial(unreadable, path, "NPY")):
            shape, self._by_column, self._dtype = header(file)
            self._start = file.tell()
        if self._dtype.kind not in "biuf" or len(shape) != 2:
            received = f"{self._dtype} values of shape {shape}"
            raise invalid("array", path.name, "a numeric matrix (T, d)", received)
        self._rows, self._dim = shape
        if self._rows == 0:
            raise no_rows(path, "an array of length 0")
        expected = self._start + self._rows * self._dim * self._dtype.itemsize
        if path.stat().st_size < expected:
            raise unreadable(path, "NPY", EOFError(f"{path.stat().st_size} bytes instead of {expected}"))
        self.columns = [f"x{j}" for j in range(self._dim)]

    def count(self) -> int:
        """Return what the header says."""
        return self._rows

    def blocks(self, names: Sequence[str], size: int) -> Iterator[Floats]:
        """Read `size` rows at a time."""
        wanted = self.positions(names)
        with self.path.open("rb") as file:
            for first in range(0, self._rows, size):
                count = min(size, self._rows - first)
                read = self._from_columns if self._by_column else self._from_rows
                block = read(file, first, count, wanted).astype(np.float64, copy=False)
                if odd := first_odd(block):
                    raise bad_cell(self.path, names[odd[1]], first + 1 + odd[0], block[odd].item())
                yield block

    def _from_rows(self, file: IO[bytes], first: int, count: int, wanted: list[int]) -> NDArray[Any]:
        return self._read(file, first * self._dim, count * self._dim).reshape(count, -1)[:, wanted]

    def _from_columns(self, file: IO[bytes], first: int, count: int, wanted: list[int]) -> NDArray[Any]:
        return np.column_stack([self._read(file, j * self._rows + first, count) for j in wanted])

    def _read(self, file: IO[bytes], place: int, count: int) -> NDArray[Any]:
        file.seek(self._start + place * self._dtype.itemsize)
        return np.fromfile(file, self._dtype, count)
