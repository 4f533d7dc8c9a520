"""NumPy archives, read without unpacking them into memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from numpy.typing import NDArray

from qufur.errors import invalid
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import clean
from qufur.tables.formats.text_lines import no_rows, unreadable
from qufur.tables.sources.base import sound
from qufur.tables.sources.npz import member_header, together


def npz_batches(path: Path, size: int) -> Iterator[Batch]:
    """Yield the rows of all vectors and matrices; a matrix such as X is an embedding."""
    shapes = _shapes(path)
    rows = shapes.get("X", next(iter(shapes.values()), (0,)))[0]
    if not rows:
        raise no_rows(path)
    for name, shape in shapes.items():
        if shape[0] != rows:
            raise invalid(f"array {name!r}", path.name, f"of {rows} rows like the others", f"shape {shape}")
    arrays = together(path, shapes, size, partial(unreadable, path, "NPZ"))
    for first, part in zip(range(1, rows + 1, size), arrays, strict=True):
        yield Batch(dict(zip(shapes, map(_column, part), strict=True)), first, path.name)


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    with sound(partial(unreadable, path, "NPZ")), ZipFile(path) as archive:
        found = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        headers = {name: member_header(archive, name) for name in found}
    return {name: shape for name, (shape, _, dtype) in headers.items() if _is_column(shape, dtype.kind)}


def _is_column(shape: tuple[int, ...], kind: str) -> bool:
    return (len(shape) == 1 and kind in "biufUM") or (len(shape) == 2 and shape[1] > 0 and kind in "biuf")


def _column(array: NDArray[Any]) -> Column:
    if array.ndim == 2 or array.dtype.kind in "iuf":
        return array
    cells = array.astype(str) if array.dtype.kind == "M" else array
    return [clean(cell) for cell in cells.tolist()]
