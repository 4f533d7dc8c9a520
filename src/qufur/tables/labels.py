"""Ids and labels of rows: numbers, or classes and their indices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats, Ints
from qufur.errors import invalid
from qufur.tables.batch import Batch, shown
from qufur.tables.cells import category, first_other, listed, numbers
from qufur.tables.number_formats import LabelForms, label_numbers
from qufur.tables.writers import unescaped

MOST_CLASSES = 50
"""Maximum number of distinct texts that are inferred as classes; the user must name more than these."""
MAX_LISTED = 8
"""Maximum number of classes that a message lists."""
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LARGEST = 2**63


def class_name(cell: str | float) -> str:
    """Return the class name of a cell in a file of labels.

    >>> [class_name(cell) for cell in ("yes", 1.0, "True", "'-none")]
    ['yes', '1', 'true', '-none']
    """
    return category(unescaped(cell) if isinstance(cell, str) else cell)


def listing(classes: Iterable[str]) -> str:
    """Format the names of classes, shortened if there are many.

    >>> listing(["no", "yes"])
    "'no', 'yes'"
    """
    names = list(map(shown, classes))
    return ", ".join(names[:MAX_LISTED]) + (f", … ({len(names)} in all)" if len(names) > MAX_LISTED else "")


def class_labels(
    batch: Batch, column: str, classes: Sequence[str], *, skip_blank: bool = False
) -> tuple[Ints, Floats]:
    """Return the indices of the rows with a label, and the indices of their classes.

    >>> class_labels(Batch({"late": ["yes", None, "no"]}), "late", ["no", "yes"], skip_blank=True)
    (array([0, 2]), array([1., 0.]))
    """
    blank = "leave it blank" if skip_blank else "drop the row"
    allowed, correct = f"one of {listing(classes)}", f"Correct it, {blank}, or name it with `classes=`."
    invalid_index = first_other(batch.column(column))
    if invalid_index is not None:
        raise batch.cell_error(column, invalid_index, allowed, correct)
    number_of: dict[Any, int] = {name: number for number, name in enumerate(classes)}
    cells = listed(batch.column(column))
    rows = [row for row, cell in enumerate(cells) if not (skip_blank and cell is None)]
    numbers = [None if cells[row] is None else number_of.get(class_name(cells[row])) for row in rows]
    if None in numbers:
        raise batch.cell_error(column, rows[numbers.index(None)], allowed, correct)
    return np.array(rows, dtype=np.int64), np.array(numbers, dtype=np.float64)


class LabelSurvey:
    """Inference of the labels of a table, numbers or class names, in one pass.

    Parameters
    ----------
    column, file
        Names of the column of labels and of its table.
    classes
        Classes given by the user, other labels raise an error; None to infer them.
    numbers
        Whether the user declared the labels as numbers.

    Examples
    --------
    >>> survey = LabelSurvey("late", "may.csv")
    >>> survey.add(Batch({"late": ["yes", None, "no"]}))
    >>> survey.classes()
    ('no', 'yes')
    """

    def __init__(
        self, column: str, file: str, classes: tuple[str, ...] | None = None, *, numbers: bool = False
    ) -> None:
        self.column, self.file = column, file
        self._named = classes
        self._texts: set[str] = set()
        self._numbers = numbers
        self.forms = LabelForms()
        # Row and content of the first text.
        self.first_text: tuple[int, Any] | None = None

    def add(self, batch: Batch) -> None:
        """Update the inference with the labels of a batch."""
        if self._named is not None:
            class_labels(batch, self.column, self._named, skip_blank=True)
            return
        self.forms.add(batch, self.column)
        cells = batch.column(self.column)
        values = numbers(cells)
        if values is not None:
            self._numbers = self._numbers or not bool(np.isnan(values).all())
        elif first_other(cells) is None and len(self._texts) <= MOST_CLASSES:
            self._add_texts(batch, listed(cells))

    def _add_texts(self, batch: Batch, cells: list[Any]) -> None:
        texts = {cell for cell in set(cells) if cell is not None and numbers([cell]) is None}
        self._numbers = self._numbers or not {*cells} <= {*texts, None}
        self._texts |= {class_name(text) for text in texts}
        if self.first_text is None:
            index = next(index for index, cell in enumerate(cells) if cell in texts)
            self.first_text = batch.row(index), cells[index]

    def classes(self) -> tuple[str, ...] | None:
        """Return the classes, or None for numbers; raise InvalidError for text that is neither."""
        if self._named is None and self._texts and self.forms.all_numbers:
            self.forms.check()
            return None
        if self._named is not None or self._numbers or not self._texts:
            return self._named
        if 2 <= len(self._texts) <= MOST_CLASSES:
            return tuple(sorted(self._texts))
        row, cell = self.first_text or (0, None)
        is_constant = len(self._texts) < 2
        received = f"{shown(cell)} throughout" if is_constant else f"more, such as {shown(cell)} in row {row}"
        remedy = "Name all classes with `classes=`, or another column with `target=`."
        allowed = f"numbers, or from 2 to {MOST_CLASSES} classes"
        raise invalid(f"column {self.column!r}", self.file, allowed, received, remedy)


def ids(batch: Batch, column: str | None = None) -> list[str | int]:
    """Return the ids of the rows: the cells of a column, or the row numbers.

    Equal spellings give equal ids, so ids in files of different formats match. An integer of at most 64 bits
    is an int; a longer one is text, and so is 007. Whether ids are unique is not checked here.

    >>> ids(Batch({"flight": ["7", "007", "LH7"]}), "flight"), ids(Batch({"wind": [0.5]}, 41))
    ([7, '007', 'LH7'], [41])
    >>> ids(Batch({"tweet": ["1234567890123456789", 1234567890123456790, 10**20]}), "tweet")
    [1234567890123456789, 1234567890123456790, '100000000000000000000']
    """
    if column is None:
        first = batch.before + batch.first
        return list(range(first, first + len(batch)))
    return [_id(cell, batch, column, index) for index, cell in enumerate(listed(batch.column(column)))]


def check_once(names: Sequence[str | int], rows: Sequence[int], file: str) -> None:
    """Raise InvalidError if two rows have the same id."""
    if len(set(names)) == len(names):
        return
    first: dict[str | int, int] = {}
    for name, row in zip(names, rows, strict=True):
        if name in first:
            received = f"{name!r} in rows {first[name]} and {row}"
            raise invalid("id", file, "unique", received, "Keep one of them.")
        first[name] = row


def labels(batch: Batch, column: str, *, skip_blank: bool = False) -> tuple[Ints, Floats]:
    """Return the indices of the rows with a label, and the labels; 5%, 1,000 and € 3.20 are numbers too.

    Parameters
    ----------
    batch, column
        The rows, and the column of labels.
    skip_blank
        Whether to skip rows without a label; otherwise they are an error.

    Examples
    --------
    >>> labels(Batch({"delay": ["2.5", None, "4"]}), "delay", skip_blank=True)
    (array([0, 2]), array([2.5, 4. ]))
    """
    values = label_numbers(batch.column(column))
    if values is None or not (np.abs(values) < LARGEST)[~np.isnan(values) | (not skip_blank)].all():
        raise batch.number_error(column, label_numbers, may_be_blank=skip_blank)
    rows = np.flatnonzero(~np.isnan(values[:, 0]))
    return rows, values[rows, 0]


def _id(cell: Any, batch: Batch, column: str, index: int) -> str | int:
    if isinstance(cell, str):
        # A CSV file can hold neither 0 bytes nor the lone surrogates that text from JSON may contain.
        if "\0" in cell or cell.encode(errors="ignore").decode() != cell:
            raise batch.cell_error(
                column, index, "text of whole characters", "Correct the id or drop the row."
            )
        if not _WHOLE.fullmatch(cell):
            return cell
    elif not isinstance(cell, int) and not (isinstance(cell, float) and cell.is_integer()):
        raise batch.cell_error(column, index, "text or whole numbers", "Give every row an id.")
    number = int(cell)
    return number if -_LARGEST <= number < _LARGEST else str(number)
