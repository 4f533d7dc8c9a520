"""What rows are called, and their labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats, Ints
from qufur.errors import invalid
from qufur.tables.batch import Batch, Column
from qufur.tables.cells import first_bad, listed, numbers
from qufur.tables.label_forms import label_numbers

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LARGEST = 2**63
Read = Callable[[Column], Floats | None]


def ids(batch: Batch, column: str | None = None) -> list[str | int]:
    """Return what the rows are called: the cells of a column, or the numbers of the rows.

    Ids that are written alike are the same, so that they can be written to one file and read from another,
    of whatever format: a whole number of 64 bits is an int, and a longer one is text, as 007 is. That no id
    occurs twice is not checked here.

    >>> ids(Batch({"flight": ["7", "007", "LH7"]}), "flight"), ids(Batch({"wind": [0.5]}, 41))
    ([7, '007', 'LH7'], [41])
    >>> ids(Batch({"tweet": ["1234567890123456789", 1234567890123456790, 10**20]}), "tweet")
    [1234567890123456789, 1234567890123456790, '100000000000000000000']
    """
    if column is None:
        first = batch.before + batch.first
        return list(range(first, first + len(batch)))
    return [_id(cell, batch, column, place) for place, cell in enumerate(listed(batch.column(column)))]


def check_once(names: Sequence[str | int], rows: Sequence[int], file: str) -> None:
    """Complain if two rows have one name; what is written alike is the same."""
    if len(set(names)) == len(names):
        return
    first: dict[str | int, int] = {}
    for name, row in zip(names, rows, strict=True):
        if name in first:
            received = f"{name!r} in rows {first[name]} and {row}"
            raise invalid("id", file, "there once", received, "Keep one of them.")
        first[name] = row


def labels(batch: Batch, column: str, *, skip_blank: bool = False) -> tuple[Ints, Floats]:
    """Return the places of the rows with a label, and the labels; 5%, 1,000 and € 3.20 are numbers too.

    Parameters
    ----------
    batch, column
        The rows, and the column of labels.
    skip_blank
        Whether rows without a label are left out; if not, they are an error.

    Examples
    --------
    >>> labels(Batch({"delay": ["2.5", None, "4"]}), "delay", skip_blank=True)
    (array([0, 2]), array([2.5, 4. ]))
    """
    values = label_numbers(batch.column(column))
    if values is None or not (np.abs(values) < LARGEST)[~np.isnan(values) | (not skip_blank)].all():
        raise bad_number(batch, column, label_numbers, may_be_blank=skip_blank)
    places = np.flatnonzero(~np.isnan(values[:, 0]))
    return places, values[places, 0]


def bad_number(batch: Batch, column: str, read: Read = numbers, *, may_be_blank: bool = False) -> ValueError:
    """Build the error for the first cell that is no number, or too large a one, in a column that has such."""
    cells = batch.column(column)
    values = read(cells)
    correct = "Correct it or leave it blank." if may_be_blank else "Correct it or drop the row."
    if values is None:
        return batch.refuse(column, first_bad(cells, read), "finite numbers", correct)
    large = np.abs(values[:, 0]) >= LARGEST
    if large.any():
        return batch.refuse(column, int(large.argmax()), f"numbers below {LARGEST:g} in size", correct)
    missing = int(np.isnan(values[:, 0]).argmax())
    return batch.refuse(column, missing, "finite numbers", "Fill it or drop the row.")


def _id(cell: Any, batch: Batch, column: str, place: int) -> str | int:
    if isinstance(cell, str):
        if not _can_be_written(cell):
            raise batch.refuse(column, place, "text of whole characters", "Correct the id or drop the row.")
        return _short(int(cell)) if _WHOLE.fullmatch(cell) else cell
    if isinstance(cell, int) or (isinstance(cell, float) and cell.is_integer()):
        return _short(int(cell))
    raise batch.refuse(column, place, "text or whole numbers", "Give every row an id.")


def _short(number: int) -> str | int:
    return number if -_LARGEST <= number < _LARGEST else str(number)


def _can_be_written(text: str) -> bool:
    """Return whether a CSV file can hold a text: JSON may bring halves of characters, and 0 bytes."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
