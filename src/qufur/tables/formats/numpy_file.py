"""NumPy arrays and archives, read in chunks: pages of a memory map would count as memory of the process."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.cells import Column, clean
from qufur.tables.formats.base import TableFile, no_rows, unreadable

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]
INPUTS = "X"
"""Matrix of an archive whose columns can also be used singly, as x0, x1, … like those of an .npy file."""
_ROLES = ("y", "domain", "truth")


class NpyFile(TableFile):
    """A matrix (T, d) of numbers, stored by rows or by columns; the columns are called x0, x1 and so on."""

    format = "NPY"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.sound(), path.open("rb") as file:
            shape, self._by_column, self._dtype = _header(file)
            self._start = file.tell()
        if self._dtype.kind not in "biuf" or len(shape) != 2:
            received = f"{self._dtype} values of shape {shape}"
            raise invalid("array", path.name, "a numeric matrix (T, d)", received)
        self._count, self._dim = shape
        if not self._count or not self._dim:
            raise no_rows(path)
        expected = self._start + self._count * self._dim * self._dtype.itemsize
        if path.stat().st_size < expected:
            raise unreadable(path, "NPY", EOFError(f"{path.stat().st_size} bytes instead of {expected}"))
        self.columns = _numbered(self._dim)

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read `size` rows at a time."""
        names = columns or self.columns
        indices = [int(name[1:]) for name in names]
        with self.path.open("rb") as file:
            for first in range(0, self._count, size):
                count = min(size, self._count - first)
                if self._by_column:
                    arrays = [self._read(file, j * self._count + first, count) for j in indices]
                else:
                    block = self._read(file, first * self._dim, count * self._dim).reshape(count, -1)
                    arrays = [block[:, j] for j in indices]
                yield Batch(dict(zip(names, arrays, strict=True)), first + 1, self.path.name)

    def _read(self, file: IO[bytes], offset: int, count: int) -> NDArray[Any]:
        """Return `count` numbers of the matrix from index `offset` in file order."""
        file.seek(self._start + offset * self._dtype.itemsize)
        values = np.fromfile(file, self._dtype, count)
        # In a matrix of numbers, true is 1.
        return values.view(np.uint8) if self._dtype.kind == "b" else values


class NpzFile(TableFile):
    """An archive of vectors and matrices with one row per example; other arrays are ignored.

    Arrays y, domain and truth hold labels, hidden domains and f*. A matrix such as X is an embedding, and the
    numbers in X are called x0, x1, … A matrix saved in Fortran order is loaded whole: its rows do not lie
    together in the file.
    """

    format = "NPZ"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._shapes = self._find_shapes()
        self._count = self._shapes.get(INPUTS, next(iter(self._shapes.values()), (0,)))[0]
        if not self._count:
            raise no_rows(path)
        for name, shape in list(self._shapes.items()):
            if shape[0] == self._count:
                continue
            if INPUTS not in self._shapes or name in _ROLES:
                allowed = f"of {self._count} rows like the others"
                raise invalid(f"array {name!r}", path.name, allowed, f"shape {shape}")
            del self._shapes[name]  # names of features, for example
        self.columns = list(self._shapes)
        self.target, self.domain, self.truth = (
            name if len(self._shapes.get(name, ())) == 1 else None for name in _ROLES
        )
        if len(self._shapes.get(INPUTS, ())) == 2:
            numbers = _numbered(self._shapes[INPUTS][1])
            self.numbers = {name: (INPUTS, index) for index, name in enumerate(numbers)}

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read `size` rows of every array at a time."""
        named = columns or self.columns
        names = list(dict.fromkeys(name if name in self._shapes else INPUTS for name in named))
        parts = zip(*(_parts(self.path, name, size) for name in names), strict=True)
        for first in range(1, self._count + 1, size):
            with self.sound():
                arrays = map(_column, next(parts))
            cells = dict(zip(names, arrays, strict=True))
            yield Batch(cells, first, self.path.name, self.numbers)
        with self.sound():
            next(parts, None)  # reading to the end verifies the checksum of the array

    def _find_shapes(self) -> dict[str, tuple[int, ...]]:
        with self.sound(), ZipFile(self.path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            headers = {name: _member_header(archive, name) for name in names}
        return {name: shape for name, (shape, _, dtype) in headers.items() if _is_column(shape, dtype.kind)}


def _numbered(dim: int) -> list[str]:
    return [f"x{j}" for j in range(dim)]


def _is_column(shape: tuple[int, ...], kind: str) -> bool:
    """Return whether an array is a vector of numbers, text or dates, or a matrix of numbers."""
    return (len(shape) == 1 and kind in "biufUM") or (len(shape) == 2 and shape[1] > 0 and kind in "biuf")


def _column(array: NDArray[Any]) -> Column:
    """Return matrices and vectors of numbers unchanged, and other vectors as lists of cells."""
    if array.ndim == 2 or array.dtype.kind in "iuf":
        return array
    cells = array.astype(str) if array.dtype.kind == "M" else array
    return [clean(cell) for cell in cells.tolist()]


def _parts(path: Path, name: str, size: int) -> Iterator[NDArray[Any]]:
    """Yield `size` rows of an array in an archive at a time."""
    with ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        shape, by_column, dtype = _header(file)
        if by_column:
            whole = np.frombuffer(file.read(), dtype).reshape(shape, order="F")
            yield from (whole[i : i + size] for i in range(0, len(whole), size))
        row_bytes = math.prod(shape[1:]) * dtype.itemsize
        while data := file.read(size * row_bytes):
            yield np.frombuffer(data, dtype).reshape(-1, *shape[1:])


def _member_header(archive: ZipFile, name: str) -> Header:
    """Return the header of an array in an archive, after a check of its length."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as file:
        shape, by_column, dtype = _header(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
    if member.file_size != expected and not dtype.hasobject:
        raise EOFError(f"array {name} has {member.file_size} bytes instead of {expected}")
    return shape, by_column, dtype


def _header(file: IO[bytes]) -> Header:
    """Return the shape, whether the array is in Fortran order, and its dtype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unusual headers, and those of Python 2
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, dtype = read(file)
    if min(shape, default=0) < 0:
        raise ValueError(f"shape {shape}")
    return shape, by_column, dtype
