"""NumPy archives, read without unpacking them into memory."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.tables.sources.base import Complaint, Source, bad_cell, first_odd, no_rows, sound, unreadable

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]


class NpzSource(Source):
    """An archive with arrays X (T, d) and y (T,), and domain (T,) and truth (T,) where they are known.

    Its columns are called x0, x1, …, y, domain and truth. A matrix saved in Fortran order is loaded whole:
    its rows do not lie together in the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._members = self._find_members()
        shapes = {name: self._shape(name) for name in self._members}
        self._rows, dim = shapes["X"]
        for name in self._members[1:]:
            if shapes[name] != (self._rows,):
                allowed = f"of shape ({self._rows},), one entry per row of X"
                raise invalid(f"array {name}", path.name, allowed, f"shape {shapes[name]}")
        if self._rows == 0:
            raise no_rows(path, "arrays of length 0")
        self.columns = [f"x{j}" for j in range(dim)] + self._members[1:]
        self.target = "y"
        self.domain, self.truth = (name if name in shapes else None for name in ("domain", "truth"))

    def count(self) -> int:
        """Return what the header of X says."""
        return self._rows

    def blocks(self, names: Sequence[str], size: int) -> Iterator[Floats]:
        """Read `size` rows of every array at a time."""
        wanted = self.positions(names)
        arrays = together(self.path, self._members, size, partial(unreadable, self.path, "NPZ"))
        for first, part in zip(range(1, self._rows + 1, size), arrays, strict=True):
            block = np.column_stack(part)[:, wanted].astype(np.float64)
            if odd := first_odd(block):
                raise bad_cell(self.path, names[odd[1]], first + odd[0], block[odd].item())
            yield block

    def _find_members(self) -> list[str]:
        with sound(partial(unreadable, self.path, "NPZ")), ZipFile(self.path) as archive:
            found = {Path(name).stem for name in archive.namelist()}
        if not {"X", "y"} <= found:
            raise invalid("arrays", self.path.name, "X and y", ", ".join(sorted(found)) or "none")
        return [name for name in ("X", "y", "domain", "truth") if name in found]

    def _shape(self, name: str) -> tuple[int, ...]:
        with sound(partial(unreadable, self.path, "NPZ")), ZipFile(self.path) as archive:
            shape, _, dtype = member_header(archive, name)
        if dtype.kind not in "biuf" or (name == "X" and len(shape) != 2):
            allowed = "a numeric matrix (T, d)" if name == "X" else "a numeric vector (T,)"
            raise invalid(f"array {name}", self.path.name, allowed, f"{dtype} values of shape {shape}")
        return shape


def together(
    path: Path, names: Iterable[str], size: int, complaint: Complaint
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield `size` rows of each of some arrays in an archive at a time."""
    arrays = zip(*(_parts(path, name, size) for name in names), strict=True)
    while True:
        with sound(complaint):
            rows = next(arrays, None)
        if rows is None:
            return
        yield rows


def _parts(path: Path, name: str, size: int) -> Iterator[NDArray[Any]]:
    """Yield `size` rows of an array in an archive at a time."""
    with ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        shape, by_column, dtype = header(file)
        if by_column:
            whole = np.frombuffer(file.read(), dtype).reshape(shape, order="F")
            yield from (whole[i : i + size] for i in range(0, len(whole), size))
        row_bytes = math.prod(shape[1:]) * dtype.itemsize
        while data := file.read(size * row_bytes):
            yield np.frombuffer(data, dtype).reshape(-1, *shape[1:])


def member_header(archive: ZipFile, name: str) -> Header:
    """Return the header of an array in an archive, which must be as long as it says."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as file:
        shape, by_column, dtype = header(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
    if member.file_size != expected and not dtype.hasobject:
        raise EOFError(f"array {name} has {member.file_size} bytes instead of {expected}")
    return shape, by_column, dtype


def header(file: IO[bytes]) -> Header:
    """Return the shape, whether the array lies column by column, and the type of what follows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers that are odd, and those of Python 2
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, dtype = read(file)
    if min(shape, default=0) < 0:
        raise ValueError(f"shape {shape}")
    return shape, by_column, dtype
