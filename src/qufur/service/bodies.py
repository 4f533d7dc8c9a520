"""Examples as a client sends them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models.base import Id

ROWS, CELLS = 5000, 2**19
"""Examples, and cells of them, that are sent at once."""
NPY = {"Content-Type": "application/x-npy"}
Record = Mapping[str, Any]


def as_id(id: Id) -> str | int:
    """Return an id as JSON has it; one of NumPy's is a number as well."""
    return id if isinstance(id, str) else int(id)


def example(x: ArrayLike | Record) -> dict[str, Any]:
    """Return an input as the fields of an example."""
    if isinstance(x, Mapping):
        return {"record": {name: _cell(cell) for name, cell in x.items()}}
    return {"x": np.asarray(x, dtype=float).tolist()}


def _cell(cell: Any) -> Any:
    """Return a cell as JSON has it: NumPy's numbers as Python's, and what is missing as null."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(value, float) and math.isnan(value) else value


def rows_of(X: Any) -> Any:
    """Return one input or several as they are sent: records, or a matrix in the precision that it has."""
    if isinstance(X, Mapping):
        return [X]
    if isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
        return X
    rows = np.atleast_2d(np.asarray(X))
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        received = f"{rows.dtype} of shape {rows.shape}"
        raise invalid("X", "Client", "a matrix of numbers, or records, one for each input", received)
    return rows if rows.dtype == np.float32 else rows.astype(float)


def npy(rows: Floats) -> bytes:
    """Return a matrix in NumPy's format."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(rows), allow_pickle=False)
    return file.getvalue()


def parts(rows: Any) -> Iterator[slice]:
    """Yield which rows are sent at once."""
    size = max(1, min(ROWS, CELLS // max(1, len(rows[0])))) if len(rows) else ROWS
    return (slice(start, start + size) for start in range(0, len(rows), size))
