"""Fast conversion of many columns of plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import TextColumns, numbers, truths
from qufur.tables.labels import bad_number


def plain_numbers(batch: Batch, names: Sequence[str]) -> Floats:
    """Return columns of unscaled numbers, (n, d), with true as 1 and false as 0; no cell may be missing.

    >>> plain_numbers(Batch({"wind": ["1", "3"], "late": ["true", "false"]}), ["late", "wind"]).tolist()
    [[1.0, 1.0], [0.0, 3.0]]
    """
    values = numbers_in_text(batch, names)
    if values is not None:
        return values
    values = np.empty((len(batch), len(names)))
    for index, name in enumerate(names):
        values[:, index] = _numbers(batch.column(name))
    invalid = ~(np.abs(values) < LARGEST).all(axis=0)
    if invalid.any():
        raise bad_number(batch, names[int(invalid.argmax())])
    return values


def numbers_in_text(batch: Batch, names: Sequence[str]) -> Floats | None:
    """Return text columns that contain only numbers, (n, d), in half the time of one column after another.

    Returns None if the columns are not text, or if a cell is missing, not a number or too large. The caller
    then converts the columns one by one, which also finds the invalid cell.
    """
    if not (isinstance(batch.columns, TextColumns) and names and batch.columns.keys() >= set(names)):
        return None
    values = batch.columns.floats(names)
    return values if values is not None and (np.abs(values) < LARGEST).all() else None


def _numbers(column: Column) -> Floats | float:
    """Return the cells, or NaN if one of them is not a number."""
    if isinstance(column, np.ndarray):
        return column if column.ndim == 1 else np.nan
    values = numbers(column)
    values = truths(column) if values is None else values[:, 0]
    return np.nan if values is None else values
