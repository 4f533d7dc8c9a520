"""Columns that are plain numbers, all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import numbers, truths
from qufur.tables.ids_and_labels import bad_number
from qufur.tables.text_cells import TextColumns


def plain_numbers(batch: Batch, names: Sequence[str]) -> Floats:
    """Return columns of numbers as they are, (n, d), with true as 1 and false as 0; no cell may be missing.

    >>> plain_numbers(Batch({"wind": ["1", "3"], "late": ["true", "false"]}), ["late", "wind"]).tolist()
    [[1.0, 1.0], [0.0, 3.0]]
    """
    # One by one takes twice as long.
    values = batch.columns.floats(names) if isinstance(batch.columns, TextColumns) else None
    if values is None:
        values = np.empty((len(batch), len(names)))
        for j, name in enumerate(names):
            values[:, j] = _numbers(batch.column(name))
    if not (np.abs(values) < LARGEST).all():
        raise bad_number(batch, names[int((~(np.abs(values) < LARGEST)).any(axis=0).argmax())])
    return values


def _numbers(column: Column) -> Floats | float:
    """Return the cells, or NaN if they are not all numbers."""
    if isinstance(column, np.ndarray):
        return column if column.ndim == 1 else np.nan
    found = numbers(column)
    found = truths(column) if found is None else found[:, 0]
    return np.nan if found is None else found
