"""Columns that are plain numbers, all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import numbers, truths
from qufur.tables.ids_and_labels import bad_number
from qufur.tables.text_cells import TextColumns

_AT_ONCE = 64
"""Columns that are made into rows together: of more, the cells of a row are too far apart for a cache."""


def plain_numbers(batch: Batch, names: Sequence[str]) -> Floats:
    """Return columns of numbers as they are, (n, d), with true as 1 and false as 0; no cell may be missing.

    >>> plain_numbers(Batch({"wind": ["1", "3"], "late": ["true", "false"]}), ["late", "wind"]).tolist()
    [[1.0, 1.0], [0.0, 3.0]]
    """
    values = numbers_in_text(batch, names)
    if values is not None:
        return values
    values = np.empty((len(batch), len(names)))
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        columns = np.empty((len(some), len(batch)))
        for place, name in enumerate(some):
            columns[place] = _numbers(batch.column(name))
        odd = ~(np.abs(columns) < LARGEST).all(axis=1)
        if odd.any():
            raise bad_number(batch, some[int(odd.argmax())])
        values[:, start : start + len(some)] = columns.T
    return values


def numbers_in_text(batch: Batch, names: Sequence[str]) -> Floats | None:
    """Return columns of text that hold nothing but numbers, (n, d): one by one they take twice as long.

    None stands for all that needs a closer look: columns that came as numbers, missing cells, and words.
    """
    if not (isinstance(batch.columns, TextColumns) and names and batch.columns.keys() >= set(names)):
        return None
    values = batch.columns.floats(names)
    return values if values is not None and (np.abs(values) < LARGEST).all() else None


def _numbers(column: Column) -> Floats | float:
    """Return the cells, or NaN if they are not all numbers."""
    if isinstance(column, np.ndarray):
        return column if column.ndim == 1 else np.nan
    found = numbers(column)
    found = truths(column) if found is None else found[:, 0]
    return np.nan if found is None else found
